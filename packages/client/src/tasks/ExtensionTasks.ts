/**
 * Adds tasks to a client as extensions: decides whether its server supports them and which results are tasks, and provides the code that
 * follows them.
 */
import * as Extension from "@effect-mcp/core/Extension"
import type { ServerCapabilities } from "@effect-mcp/protocol/Capabilities"
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import type { Revision } from "@effect-mcp/protocol/Revision"
import * as Effect from "effect/Effect"
import type { ExtensionPart, ResultHandler } from "../extension/ClientExtension.ts"
import { type TaskHandling, CurrentTaskHandling } from "./TaskHandling.ts"
import * as Tasks from "./Tasks.ts"
import { id } from "./TaskState.ts"

const extension = Extension.make(id, {
  revisions: ["2026-07-28"],
  notifications: { changed: Extension.notification("notifications/tasks", { from: "server" }) }
})

/** Tasks in 2025-11-25, where they are not an extension. The server declares a capability, and the client asks for tasks. */
const coreTasks = Extension.make(id, {
  revisions: ["2025-11-25"],
  capability: "tasks",
  notifications: { changed: Extension.notification("notifications/tasks/status", { from: "server" }) }
})

/** Uninterruptible until the task is followed, because an interrupted call must cancel it. */
const uninterruptible =
  (follow: Tasks.Follow): ResultHandler["follow"] =>
  (result, exchange) =>
    Effect.uninterruptibleMask((restore) => follow(result, exchange, restore))

const none = { questions: [], notifications: new Map<never, never>() }

const own: ReadonlyArray<ExtensionPart> = [
  {
    ...none,
    extension,
    settings: {},
    results: {
      resultType: "task",
      follow: uninterruptible(Tasks.followExtension),
      abandon: ({ taskId }) => (typeof taskId === "string" ? { method: "tasks/cancel", params: { taskId } } : undefined)
    },
    outgoing: new Map()
  },
  {
    ...none,
    extension: coreTasks,
    settings: undefined,
    results: {
      resultType: "task",
      matches: ({ content, task }) => content === undefined && isJsonObject(task),
      follow: uninterruptible(Tasks.followCore)
    },
    outgoing: new Map([
      ["tools/call", (params) => Effect.map(CurrentTaskHandling, (handling) => augmented(params, handling))]
    ])
  }
]

/** Adds the task extensions. A layer that the program provides for the same extension replaces them. */
export const besideOwn = (parts: ReadonlyArray<ExtensionPart>): ReadonlyArray<ExtensionPart> => [
  ...parts,
  ...own.filter(
    ({ extension: { capability } }) =>
      !parts.some(({ extension }) => extension.id === id && extension.capability === capability)
  )
]

const augmented = (params: JsonObject, { asks, ttl }: TaskHandling): JsonObject =>
  asks ? { ...params, task: ttl === undefined ? {} : { ttl } } : params

/** True if the server declares tasks in either generation. */
export const areOffered = ({ extensions, tasks }: ServerCapabilities): boolean =>
  tasks !== undefined || (extensions !== undefined && Object.hasOwn(extensions, id))

/** True if a client may ask the server to answer tool calls with tasks (2025-11-25: tasks, tool-level negotiation). */
export const mayAsk = ({
  revision,
  serverCapabilities
}: {
  readonly revision: Revision
  readonly serverCapabilities: ServerCapabilities
}): boolean => revision.rules.tasks && serverCapabilities.tasks?.requests?.tools?.call !== undefined
