import { z } from "zod";
import type { ApiBase } from "../ports.ts";
import { HttpProblem } from "../problems.ts";
import { defineRoute, type Route } from "../route.ts";

const secretParams = z.strictObject({
  name: z.string().min(1).max(100).describe("Name of the secret, as in `{{secret:NAME}}`."),
});

const secretSchema = z
  .strictObject({
    name: z.string(),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
  })
  .meta({ id: "Secret" });

/** Checked by hand: problems of a schema show what was found. */
const valueSchema = z
  .strictObject({
    value: z.unknown().meta({ type: "string", minLength: 8, maxLength: 8_192 }),
  })
  .meta({ id: "SecretValue" });

/** Creates the routes of a tenant's secrets. None answers with a value. */
export function secretRoutes({ platform, allow }: ApiBase): readonly Route[] {
  const { secrets, audit } = platform;
  return [
    defineRoute({
      method: "put",
      path: "/v1/secrets/{name}",
      operationId: "setSecret",
      summary: "Stores a secret, or replaces its value. No route reads it.",
      tag: "secrets",
      scopes: ["secrets:write"],
      params: secretParams,
      body: valueSchema,
      answers: {
        200: { description: "The secret, replaced.", schema: secretSchema },
        201: { description: "The secret, stored.", schema: secretSchema },
      },
      problems: ["conflict", "encryption_required", "invalid_input"],
      async handle({ params, body, principal }) {
        if (!secrets.isSealing && allow.plainSecrets !== true) {
          throw new HttpProblem("encryption_required", {
            detail:
              "This server has no encryption keys (STRATAGRAPH_ENCRYPTION_KEYS), and stores no secrets without.",
          });
        }
        const { value } = body;
        if (typeof value !== "string") {
          throw new HttpProblem("invalid_request", {
            errors: [{ pointer: "/value", detail: "expected a text" }],
          });
        }
        const { tenantId, keyId } = principal;
        const stored = await secrets.set(tenantId, { name: params.name, value });
        // Without a hash of the value, which could be guessed by it.
        await audit.append(tenantId, {
          actor: `key:${keyId}`,
          action: "secret.set",
          subject: stored.name,
        });
        return { status: stored.isNew ? 201 : 200, body: secretOf(stored) };
      },
    }),
    defineRoute({
      method: "get",
      path: "/v1/secrets",
      operationId: "listSecrets",
      summary: "Lists the names of secrets, at most 200.",
      tag: "secrets",
      scopes: ["secrets:write"],
      answers: {
        200: {
          description: "The secrets by name, without their values.",
          schema: z.strictObject({ secrets: z.array(secretSchema) }).meta({ id: "Secrets" }),
        },
      },
      async handle({ principal }) {
        const stored = await secrets.list(principal.tenantId);
        return { status: 200, body: { secrets: stored.map(secretOf) } };
      },
    }),
    defineRoute({
      method: "delete",
      path: "/v1/secrets/{name}",
      operationId: "deleteSecret",
      summary: "Deletes a secret. Calls that use it fail from then on.",
      tag: "secrets",
      scopes: ["secrets:write"],
      params: secretParams,
      answers: { 204: { description: "Deleted." } },
      async handle({ params, principal }) {
        const { tenantId, keyId } = principal;
        await secrets.remove(tenantId, params.name);
        await audit.append(tenantId, {
          actor: `key:${keyId}`,
          action: "secret.delete",
          subject: params.name,
        });
        return { status: 204 };
      },
    }),
  ];
}

function secretOf(stored: {
  readonly name: string;
  readonly createdAt: string;
  readonly updatedAt: string;
}) {
  return { name: stored.name, created_at: stored.createdAt, updated_at: stored.updatedAt };
}
