/**
 * Forms of keys and tokens that their makers publish. Each begins where a word begins and its characters end with the
 * word, so that no part of a text is gone over twice.
 */
export const keyForms: readonly RegExp[] = [
  // OpenAI, Anthropic and those who took over their form.
  /(?<![\w-])sk-(?:proj-|svcacct-|admin-|ant-[a-z0-9]+-|or-v1-)?[A-Za-z0-9_-]{20,}(?![\w-])/g,
  // AWS access keys: "Unique ID prefixes" in the IAM user guide.
  /(?<!\w)(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}(?!\w)/g,
  // GitHub, GitLab, npm, PyPI, Hugging Face.
  /(?<!\w)gh[pousr]_[A-Za-z0-9]{36,255}(?!\w)/g,
  /(?<!\w)github_pat_[A-Za-z0-9_]{22,255}(?!\w)/g,
  /(?<![\w-])glpat-[\w-]{20,}(?![\w-])/g,
  /(?<!\w)npm_[A-Za-z0-9]{36}(?!\w)/g,
  /(?<![\w-])pypi-[\w-]{50,}(?![\w-])/g,
  /(?<!\w)hf_[A-Za-z0-9]{30,}(?!\w)/g,
  // Slack.
  /(?<![\w-])xox[abeoprs]-[A-Za-z0-9-]{10,}(?![\w-])/g,
  /(?<![\w-])xapp-\d-[A-Za-z0-9-]{10,}(?![\w-])/g,
  // Google, Groq, Stripe, SendGrid, Twilio.
  /(?<![\w-])AIza[\w-]{35}(?![\w-])/g,
  /(?<![\w-])ya29\.[\w-]{20,}(?![\w-])/g,
  /(?<!\w)gsk_[A-Za-z0-9]{40,}(?!\w)/g,
  /(?<!\w)(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{16,}(?!\w)/g,
  /(?<!\w)whsec_[A-Za-z0-9+/]{24,}(?!\w)/g,
  /(?<![\w.-])SG\.[\w-]{16,}\.[\w-]{16,}(?![\w-])/g,
  // JSON Web Tokens: RFC 7519; both parts are objects, so that both begin with {" in base64.
  /(?<![\w.-])eyJ[\w-]{8,}\.eyJ[\w-]{8,}(?:\.[\w-]*)?/g,
];
