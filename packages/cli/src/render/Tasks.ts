/** Renders tasks. */
import type { TaskState } from "@effect-mcp/client/McpClient"
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import { safeLine, type Style } from "../terminal/Style.ts"
import { indent, table, type View } from "./Text.ts"

const shade = (style: Style, status: string): string => {
  const text = safeLine(status)
  if (status === "completed") return style.green(text)
  if (status === "input_required") return style.yellow(text)
  return status === "failed" || status === "cancelled" ? style.red(text) : style.cyan(text)
}

/** Returns a string from the server on one line, or `undefined` for any other value. */
const line = (value: unknown): string | undefined =>
  typeof value === "string" || typeof value === "number" ? safeLine(String(value)) : undefined

/** Renders an open question on one line. */
const question = (asked: unknown): string => {
  const { method, params } = isJsonObject(asked) ? asked : {}
  const message = isJsonObject(params) ? line(params.message) : undefined
  return [line(method) ?? "?", ...(message === undefined ? [] : [message])].join("  ")
}

const failure = (error: unknown): string | undefined =>
  isJsonObject(error) ? [line(error.code), line(error.message)].join("  ") : undefined

/** Renders a task of either era, a row per field. */
export const task = ({ style, width }: View, self: JsonObject): string => {
  const { createdAt, error, inputRequests, lastUpdatedAt, status, statusMessage } = self
  const kept = self.ttlMs ?? self.ttl
  const every = self.pollIntervalMs ?? self.pollInterval
  const rows: ReadonlyArray<readonly [string, string | undefined]> = [
    ["Message", line(statusMessage)],
    ["Created", line(createdAt)],
    ["Changed", line(lastUpdatedAt)],
    ["Kept", typeof kept === "number" ? `${kept} ms after its creation` : "without a limit"],
    ["Read", typeof every === "number" ? `every ${every} ms` : undefined],
    ["Error", failure(error)],
    ...Object.entries(isJsonObject(inputRequests) ? inputRequests : {}).map(
      ([key, asked]) => [`Asks ${safeLine(key)}`, question(asked)] as const
    )
  ]
  const cells = rows.flatMap(([name, value]) => (value === undefined ? [] : [[style.dim(name), value]]))
  return [
    `${style.bold(line(self.taskId) ?? "?")}  ${shade(style, String(status))}`,
    indent(table(cells, width === undefined ? undefined : width - 2))
  ].join("\n")
}

/** Renders a line for each task. */
export const list = ({ style, width }: View, tasks: ReadonlyArray<TaskState>): string =>
  tasks.length === 0
    ? "No tasks"
    : table(
        tasks.map(({ createdAt, id, message, status }) => [
          safeLine(id),
          shade(style, status),
          safeLine(createdAt),
          safeLine(message ?? "")
        ]),
        width
      )
