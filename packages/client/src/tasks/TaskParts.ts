/** Tasks as extensions of a client: which results are tasks, and what follows them. Loaded where the server declares tasks (`OwnTasks`). */
import * as Extension from "@effect-mcp/core/Extension"
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Effect from "effect/Effect"
import type { ExtensionPart, ResultHandler } from "../extension/ClientExtension.ts"
import { type Agreed, type InUse, make } from "../extension/InUse.ts"
import { type Attendance, CurrentAttendance } from "./Attendance.ts"
import { revisions } from "./OwnTasks.ts"
import * as Tasks from "./Tasks.ts"
import { id } from "./TaskState.ts"

const extension = Extension.make(id, {
  revisions,
  notifications: { changed: Extension.notification("notifications/tasks", { from: "server" }) }
})

/** Tasks of 2025-11-25, where they are no extension: the server declares them by a capability, and the client asks for them. */
const coreTasks = Extension.make(id, {
  revisions: ["2025-11-25"],
  capability: "tasks",
  notifications: { changed: Extension.notification("notifications/tasks/status", { from: "server" }) }
})

/** Uninterruptible until the task is followed: an interrupted call must cancel it. */
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
      ["tools/call", (params) => Effect.map(CurrentAttendance, (attendance) => augmented(params, attendance))]
    ])
  }
]

/** The extensions with those of tasks; a program's own layer of them stays in their place. */
export const besideOwn = (parts: ReadonlyArray<ExtensionPart>): ReadonlyArray<ExtensionPart> => [
  ...parts,
  ...own.filter(
    ({ extension: { capability } }) =>
      !parts.some(({ extension }) => extension.id === id && extension.capability === capability)
  )
]

const augmented = (params: JsonObject, { asks, ttl }: Attendance): JsonObject =>
  asks ? { ...params, task: ttl === undefined ? {} : { ttl } } : params

/** Those of a client without layers of extensions. */
export const tasksInUse = (agreed: Agreed): InUse | undefined => make(own, agreed)
