/** Turns client events into audit trail entries: the client's requests to servers, and the servers' questions. */
import type { ClientObserver, ObservedConnection } from "@effect-mcp/client/ClientObserver"
import { beginning, withoutSecrets } from "@effect-mcp/protocol/Excerpt"
import type { JsonObject } from "@effect-mcp/protocol/model/Shape"
import type * as Exit from "effect/Exit"
import { type AuditedArguments, outcomeOf, redacted, rounded, targetOf } from "./entries.ts"
import type { AuditEntry } from "./Record.ts"

/** Keeps only a command line's first word, because its arguments may contain secrets. */
const addressOf = (address: string): string =>
  beginning(/^https?:/.test(address) ? withoutSecrets(address) : (address.split(" ")[0] ?? ""))

const factsOf = ({ address, revision, server }: ObservedConnection): JsonObject => ({
  ...(server === undefined ? undefined : { server: beginning(`${server.name} ${server.version}`) }),
  ...(address === undefined ? undefined : { address: addressOf(address) }),
  ...(revision === undefined ? undefined : { revision })
})

/** Records all of a client's events. */
export const observer = (
  note: (entry: AuditEntry) => unknown,
  recorded: AuditedArguments | undefined
): ClientObserver => {
  const exchange = (
    event: string,
    connection: ObservedConnection,
    { method, params = {} }: { readonly method: string; readonly params?: JsonObject | undefined },
    duration: number,
    exit: Exit.Exit<unknown, unknown>
  ): void =>
    void note({
      event,
      method: beginning(method),
      target: targetOf(params),
      ...outcomeOf(exit),
      ms: rounded(duration),
      details: {
        ...factsOf(connection),
        ...(recorded && params["arguments"] !== undefined ? redacted(params["arguments"], recorded) : undefined)
      }
    })
  return {
    request: (end, exit, connection) => exchange("client.request", connection, end, end.duration, exit),
    question: (end, exit, connection) => exchange("client.question", connection, end.request, end.duration, exit),
    opened: (connection) => void note({ event: "client.opened", details: factsOf(connection) }),
    closed: (connection, duration) =>
      void note({ event: "client.closed", ms: rounded(duration), details: factsOf(connection) }),
    reconnected: () => void note({ event: "client.reconnected" })
  }
}
