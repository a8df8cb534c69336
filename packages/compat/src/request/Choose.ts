/** How the actor finds the definition of a request. */
import type { RequestInfo } from "./Context.ts"
import type { Definition } from "./Definition.ts"

/** The definition of a request; `initialize` has no other info. */
export type Choose = (
  request: Pick<RequestInfo, "envelope"> & {
    readonly outbound: Pick<RequestInfo["outbound"], "connection">
    readonly era: "legacy" | "modern"
  }
) => Definition | PromiseLike<Definition>
