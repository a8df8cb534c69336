/** A request without its body, as text. */
import { RelayError, type RelayedRequest } from "@effect-mcp/server/Nodes"
import * as Effect from "effect/Effect"
import { deserialize, serialize } from "node:v8"
import type { NodeId } from "./NodeId.ts"

type Principal = NonNullable<RelayedRequest["principal"]>

type Head = readonly [
  node: NodeId,
  server: string,
  session: string,
  method: string,
  url: string,
  headers: RelayedRequest["headers"],
  address: string | null,
  principal: string | null,
  hasBody: boolean
]

/** Uses `structuredClone`'s format, because a principal's claims may need it: JSON has no bigint, date or map. */
const textOf = (principal: Principal): string => serialize(principal).toString("base64")

/** Encodes a request. Fails if the principal's claims are not plain data. */
export const encodeRequest = (node: NodeId, request: RelayedRequest): Effect.Effect<string, RelayError> => {
  const { address, body, headers, method, principal, server, session, url } = request
  try {
    const user = principal === undefined ? null : textOf(principal)
    const head: Head = [node, server, session, method, url, headers, address ?? null, user, body !== undefined]
    return Effect.succeed(JSON.stringify(head))
  } catch (cause) {
    const message = `Cannot send the principal to another node because its claims are not plain JSON: ${String(cause)}`
    return Effect.fail(new RelayError({ reason: "NotSent", message }))
  }
}

/** Decodes a request. Returns `undefined` if it cannot be read. */
export const decodeRequest = (
  text: string,
  body: Uint8Array
): { readonly node: NodeId; readonly request: RelayedRequest } | undefined => {
  try {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a node that knows the secret wrote it
    const [node, server, session, method, url, headers, address, user, hasBody] = JSON.parse(text) as Head
    const principal: Principal | undefined = user === null ? undefined : deserialize(Buffer.from(user, "base64"))
    const request = { server, session, method, url, headers, address: address ?? undefined, principal }
    return { node, request: { ...request, body: hasBody ? body : undefined } }
  } catch {
    return undefined
  }
}
