/**
 * What a client has of tasks from its start: the extension that it declares, and which results are tasks. What follows a task is loaded when
 * the first one arrives.
 */
import * as Extension from "@effect-mcp/core/Extension"
import type { ServerCapabilities } from "@effect-mcp/protocol/Capabilities"
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import type { Revision } from "@effect-mcp/protocol/Revision"
import * as Effect from "effect/Effect"
import type { ExtensionPart, ResultHandler } from "../extension/ClientExtension.ts"
import { type Attendance, CurrentAttendance } from "./Attendance.ts"
import type * as Tasks from "./Tasks.ts"
import { id } from "./TaskState.ts"

const extension = Extension.make(id, {
  revisions: ["2026-07-28"],
  notifications: { changed: Extension.notification("notifications/tasks", { from: "server" }) }
})

/** Tasks of 2025-11-25, where they are no extension: the server declares them by a capability, and the client asks for them. */
const coreTasks = Extension.make(id, {
  revisions: ["2025-11-25"],
  capability: "tasks",
  notifications: { changed: Extension.notification("notifications/tasks/status", { from: "server" }) }
})

/** Uninterruptible until the task is followed: an interrupted call must cancel it. */
const lazily =
  (handler: (module: typeof Tasks) => Tasks.Follow): ResultHandler["follow"] =>
  (result, exchange) =>
    Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(
        Effect.promise(() => import("./Tasks.ts")),
        (module) => handler(module)(result, exchange, restore)
      )
    )

const none = { questions: [], notifications: new Map<never, never>() }

const own: ReadonlyArray<ExtensionPart> = [
  {
    ...none,
    extension,
    settings: {},
    results: {
      resultType: "task",
      follow: lazily(({ followExtension }) => followExtension),
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
      follow: lazily(({ followCore }) => followCore)
    },
    outgoing: new Map([
      ["tools/call", (params) => Effect.map(CurrentAttendance, (attendance) => augmented(params, attendance))]
    ])
  }
]

/** The extensions with those of tasks; a program's own layer of them stays in their place. */
export const beside = (parts: ReadonlyArray<ExtensionPart>): ReadonlyArray<ExtensionPart> => [
  ...parts,
  ...own.filter(
    ({ extension: { capability } }) =>
      !parts.some(({ extension }) => extension.id === id && extension.capability === capability)
  )
]

const augmented = (params: JsonObject, { asks, ttl }: Attendance): JsonObject =>
  asks ? { ...params, task: ttl === undefined ? {} : { ttl } } : params

/** Whether a client may ask the server to answer calls of tools by tasks (2025-11-25: tasks, tool-level negotiation). */
export const mayAsk = ({
  revision,
  serverCapabilities
}: {
  readonly revision: Revision
  readonly serverCapabilities: ServerCapabilities
}): boolean => revision.rules.tasks && serverCapabilities.tasks?.requests?.tools?.call !== undefined
