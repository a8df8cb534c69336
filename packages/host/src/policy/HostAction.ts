/** An action that the policy decides about: a request to a server, or a question from a server. */
import type { ToolAnnotations } from "@effect-mcp/protocol/model/Tool"
import type { CallerInfo } from "../caller/Caller.ts"
import type { Leak } from "../taint/Taint.ts"

/** Tool calls, resource reads, prompts, and questions from servers. */
export type ActionKind = "call" | "read" | "prompt" | "sampling" | "elicitation" | "roots"

/** An action that needs a decision. */
export interface HostAction {
  readonly kind: ActionKind
  /** The server's name in the program's table. */
  readonly server: string
  /** True if the program trusts the server's hints. */
  readonly trusted: boolean
  /** Name of the tool or prompt, or URI of the resource. The kind, for questions. */
  readonly name: string
  /** The call's or prompt's arguments, or the question's params, in wire format. */
  readonly input: { readonly [name: string]: unknown }
  /** The tool's pinned hints, if the server is trusted and the tool was listed. */
  readonly annotations: ToolAnnotations | undefined
  /** Digest of the tool's pinned declaration, or `undefined` if it wasn't listed. */
  readonly pin: string | undefined
  readonly caller: CallerInfo
  /** Set if the action could leak private data because untrusted text asked for it. */
  readonly leak: Leak | undefined
}

/** A rule's decision. `edit` replaces the input and allows the action. */
export type PolicyDecision =
  | { readonly _tag: "Allow" }
  | { readonly _tag: "Ask"; readonly reason?: string | undefined }
  | { readonly _tag: "Edit"; readonly input: { readonly [name: string]: unknown } }
  | { readonly _tag: "Deny"; readonly reason?: string | undefined }
