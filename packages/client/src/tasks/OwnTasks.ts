/**
 * Tasks of a client without layers of extensions: what it declares, and whether its server has them.
 *
 * What follows tasks is loaded with the first connection to a server that declares them (`TaskParts`).
 */
import type { ClientCapabilities, ServerCapabilities } from "@effect-mcp/protocol/Capabilities"
import type { Revision } from "@effect-mcp/protocol/Revision"
import * as Effect from "effect/Effect"
import type { Agreed, Agreement, InUse } from "../extension/InUse.ts"
import { type Late, withParts } from "../internal/Late.ts"
import { id } from "./TaskState.ts"

/** The revisions in which tasks are an extension; in older ones a client without a receiver declares nothing. */
export const revisions = ["2026-07-28"] as const

const declare = (capabilities: ClientCapabilities, { version }: Revision): ClientCapabilities =>
  revisions.some((own) => own === version)
    ? { ...capabilities, extensions: { ...capabilities.extensions, [id]: {} } }
    : capabilities

/** Whether the server declares tasks of either generation. */
export const areOffered = ({ extensions, tasks }: ServerCapabilities): boolean =>
  tasks !== undefined || (extensions !== undefined && Object.hasOwn(extensions, id))

/** Whether a client may ask the server to answer calls of tools by tasks (2025-11-25: tasks, tool-level negotiation). */
export const mayAsk = ({
  revision,
  serverCapabilities
}: {
  readonly revision: Revision
  readonly serverCapabilities: ServerCapabilities
}): boolean => revision.rules.tasks && serverCapabilities.tasks?.requests?.tools?.call !== undefined

/** Tasks as the only extension of a client. */
export const agreement = (late: Late<{ readonly tasksInUse: (agreed: Agreed) => InUse | undefined }>): Agreement => ({
  declare,
  inUse: (agreed) =>
    areOffered(agreed.serverCapabilities)
      ? withParts(late, ({ tasksInUse }) => Effect.succeed(tasksInUse(agreed)))
      : Effect.undefined
})

/** No extension at all. */
export const none: Agreement = { declare: (capabilities) => capabilities, inUse: () => Effect.undefined }
