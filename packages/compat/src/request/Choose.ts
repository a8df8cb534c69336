/** How the actor finds the definition of a message. */
import type { RequestInfo } from "./Context.ts"
import type { Definition } from "./Definition.ts"

/** What the client has said of itself; a notification does not repeat it. */
export type ClientFields = Pick<RequestInfo, "clientCapabilities" | "clientInfo">

/** The definition of a message; `initialize` and notifications have no other info. */
export type Choose = (
  message: Pick<RequestInfo, "envelope"> & {
    readonly outbound: Pick<RequestInfo["outbound"], "connection">
    readonly era: "legacy" | "modern"
    readonly client?: ClientFields | undefined
  }
) => Definition | PromiseLike<Definition>
