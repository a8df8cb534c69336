/** How the actor finds the definition of a message. */
import { plain } from "../model/plain.ts"
import type { RequestInfo } from "./Context.ts"
import type { Definition } from "./Definition.ts"
import type { KnownClient } from "./KnownClient.ts"

/** What the client has said of itself; a notification does not repeat it. */
export type ClientFields = Pick<RequestInfo, "clientCapabilities" | "clientInfo"> & {
  readonly revision?: Pick<RequestInfo["revision"], "version"> | undefined
}

/** The same as a program may read it. Here and not beside the type, which the public declarations name: those have no Effect. */
export const knownClient = ({ clientCapabilities, clientInfo, revision }: ClientFields): KnownClient => ({
  info: plain(clientInfo ?? null) ?? undefined,
  capabilities: plain(clientCapabilities),
  version: revision?.version
})

/** The definition of a message; `initialize` and notifications have no other info. */
export type Choose = (
  message: Pick<RequestInfo, "envelope"> & {
    readonly outbound: Pick<RequestInfo["outbound"], "connection">
    readonly era: "legacy" | "modern"
    readonly client?: ClientFields | undefined
  }
) => Definition | PromiseLike<Definition>
