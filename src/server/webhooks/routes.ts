import { z } from "zod";
import { errorMessage } from "../../errors.ts";
import type { Delivery, Webhook } from "../../storage/platform/webhooks.ts";
import { checkLiteralAddress } from "../../tools/builtins/http/addresses.ts";
import { entryFor, publicHosts, readAllowList } from "../../tools/builtins/http/allow-list.ts";
import { pageAnswer, pageQuery, pageRequest, pageSchema } from "../paging.ts";
import type { ApiBase } from "../ports.ts";
import { HttpProblem } from "../problems.ts";
import { defineRoute, type Route } from "../route.ts";

const events = [
  "run.complete",
  "run.failed",
  "run.cancelled",
  "run.awaiting_human",
  "run.awaiting_tool",
  "run.awaiting_event",
  "*",
] as const;

const webhookParams = z.strictObject({
  webhook_id: z.string().min(1).max(100).describe("Id of the webhook."),
});

const webhook = {
  id: z.string(),
  url: z.string(),
  events: z.array(z.string()),
  is_active: z.boolean(),
  created_at: z.iso.datetime(),
};
const webhookSchema = z.strictObject(webhook).meta({ id: "Webhook" });
const deliverySchema = z
  .strictObject({
    id: z.string().describe("Sent as `webhook-id`."),
    event: z.string(),
    state: z.enum(["queued", "delivered", "failed"]),
    attempts: z.int(),
    next_at: z.iso.datetime().describe("Time of the next attempt of a queued one."),
    last_result: z.string().nullable().describe("HTTP status of the last attempt, or what failed."),
    created_at: z.iso.datetime(),
  })
  .meta({ id: "WebhookDelivery" });

const urlText = z
  .url({ protocol: /^https?$/, error: "expected an http or https URL" })
  .max(2_000)
  .refine((text) => {
    if (!URL.canParse(text)) return true;
    const { username, password, hash } = new URL(text);
    return username === "" && password === "" && hash === "";
  }, "expected a URL without user, password and fragment");

/** Creates the routes of webhooks. */
export function webhookRoutes(base: ApiBase): readonly Route[] {
  const { webhooks, audit } = base.platform;
  const scopes = ["webhooks:write"] as const;
  const tag = "webhooks";
  return [
    defineRoute({
      method: "post",
      path: "/v1/webhooks",
      operationId: "createWebhook",
      summary: "Creates a webhook, and answers with its secret once.",
      tag,
      scopes,
      body: z
        .strictObject({
          url: urlText,
          events: z.array(z.enum(events)).min(1).max(50).describe("`*` is all events."),
        })
        .meta({ id: "WebhookRequest" }),
      answers: {
        201: {
          description: "The webhook.",
          schema: z
            .strictObject({
              ...webhook,
              secret: z.string().describe("Signs the deliveries. It cannot be read again."),
            })
            .meta({ id: "WebhookWithSecret" }),
        },
      },
      problems: ["conflict"],
      async handle({ body, principal }) {
        const { tenantId, keyId } = principal;
        await checkUrl(base, tenantId, body.url);
        const made = await webhooks.create(tenantId, body);
        await audit.append(tenantId, {
          actor: `key:${keyId}`,
          action: "webhook.create",
          subject: made.webhook.id,
          after: body,
        });
        return { status: 201, body: { ...webhookOf(made.webhook), secret: made.secret } };
      },
    }),
    defineRoute({
      method: "get",
      path: "/v1/webhooks",
      operationId: "listWebhooks",
      summary: "Lists webhooks, newest first.",
      tag,
      scopes,
      query: z.strictObject(pageQuery),
      answers: {
        200: { description: "A page of webhooks.", schema: pageSchema("webhooks", webhookSchema) },
      },
      problems: ["invalid_cursor"],
      async handle({ query, principal, request }) {
        const page = await webhooks.list(principal.tenantId, pageRequest(query));
        return pageAnswer(request, page, { name: "webhooks", item: webhookOf });
      },
    }),
    defineRoute({
      method: "patch",
      path: "/v1/webhooks/{webhook_id}",
      operationId: "updateWebhook",
      summary: "Turns a webhook off, or on again.",
      tag,
      scopes,
      params: webhookParams,
      body: z.strictObject({ is_active: z.boolean() }).meta({ id: "WebhookChange" }),
      answers: { 200: { description: "The webhook.", schema: webhookSchema } },
      async handle({ params, body, principal }) {
        const { tenantId, keyId } = principal;
        const { webhook_id: id } = params;
        const changed = await webhooks.setActive(tenantId, id, body.is_active);
        await audit.append(tenantId, {
          actor: `key:${keyId}`,
          action: "webhook.update",
          subject: id,
          after: body,
        });
        return { status: 200, body: webhookOf(changed) };
      },
    }),
    defineRoute({
      method: "delete",
      path: "/v1/webhooks/{webhook_id}",
      operationId: "deleteWebhook",
      summary: "Deletes a webhook, with its deliveries.",
      tag,
      scopes,
      params: webhookParams,
      answers: { 204: { description: "Deleted." } },
      async handle({ params, principal }) {
        const { tenantId, keyId } = principal;
        const { webhook_id: subject } = params;
        await webhooks.remove(tenantId, subject);
        await audit.append(tenantId, { actor: `key:${keyId}`, action: "webhook.delete", subject });
        return { status: 204 };
      },
    }),
    defineRoute({
      method: "get",
      path: "/v1/webhooks/{webhook_id}/deliveries",
      operationId: "listDeliveries",
      summary: "Lists the deliveries of a webhook, newest first.",
      tag,
      scopes,
      params: webhookParams,
      query: z.strictObject(pageQuery),
      answers: {
        200: {
          description: "A page of deliveries.",
          schema: pageSchema("deliveries", deliverySchema),
        },
      },
      problems: ["invalid_cursor"],
      async handle({ params, query, principal, request }) {
        const { tenantId } = principal;
        const page = await webhooks.deliveries(tenantId, params.webhook_id, pageRequest(query));
        return pageAnswer(request, page, { name: "deliveries", item: deliveryOf });
      },
    }),
  ];
}

/** Names are looked up when a delivery is sent. @throws HttpProblem for an address that is not sent to */
async function checkUrl({ runtimes }: ApiBase, tenantId: string, text: string): Promise<void> {
  const httpAllow = await runtimes.use(tenantId, async ({ runtime }) => runtime.httpAllow ?? []);
  const url = new URL(text);
  try {
    checkLiteralAddress(url, entryFor(url, readAllowList(httpAllow)) ?? publicHosts);
  } catch (thrown) {
    throw new HttpProblem("invalid_request", {
      detail: "The body has 1 problem.",
      errors: [{ pointer: "/url", detail: errorMessage(thrown) }],
      cause: thrown,
    });
  }
}

function webhookOf({ id, url, events: names, isActive, createdAt }: Webhook) {
  return { id, url, events: names, is_active: isActive, created_at: createdAt };
}

function deliveryOf(delivery: Delivery) {
  return {
    id: delivery.id,
    event: delivery.event,
    state: delivery.state,
    attempts: delivery.attempts,
    next_at: delivery.nextAt,
    last_result: delivery.lastResult,
    created_at: delivery.createdAt,
  };
}
