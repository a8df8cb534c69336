/** The live view as lines of a terminal. Pure. */
import type { Message } from "@effect-mcp/operate/Admin"
import { displayWidth } from "effect/cli/CliOutput"
import { size } from "../render/Text.ts"
import { safeLine, type Style } from "../terminal/Style.ts"
import { drainWord, type ActionPrompt, selectedLine, type State } from "./State.ts"
import { lines, summary } from "./Tree.ts"

/** Cuts a line with colours at a width: an escape sequence takes no room. */
const fitted = (text: string, width: number): string => {
  if (displayWidth(text) <= width) return text
  let shown = ""
  let used = 0
  // oxlint-disable-next-line no-control-regex -- the sequences that `Style` writes
  for (const [part] of text.matchAll(/\u001b\[\d+m|[^]/gu)) {
    const cells = part.startsWith("\u001b") ? 0 : displayWidth(part)
    if (used + cells > width - 1) break
    shown += part
    used += cells
  }
  return `${shown}…\u001b[0m`
}

const clock = (time: number): string => new Date(time).toISOString().slice(11, 23)

/** One message on one line. */
export const messageLine = (message: Message, { cyan, dim, green, red, yellow }: Style): string => {
  const { body, code, direction, id, kind, method, size: characters, target, time } = message
  const colour = kind === "error" ? red : kind === "result" ? green : yellow
  const parts = [
    dim(clock(time)),
    direction === "received" ? "in " : "out",
    colour(kind.padEnd(12)),
    cyan(safeLine(method ?? "")),
    safeLine(target ?? ""),
    id === undefined ? "" : dim(`id ${safeLine(id)}`),
    code === undefined ? "" : red(`${code}`),
    dim(size(characters)),
    safeLine(body ?? "")
  ]
  return parts.filter((part) => part !== "").join("  ")
}

const messagesOf = ({ looking, snapshot }: State, room: number, style: Style): ReadonlyArray<string> => {
  if (looking === undefined) return []
  const isOpen = snapshot.sessions.some(({ id }) => id === looking.session)
  const head = `Messages of ${safeLine(looking.session)} in the last minute, in UTC${isOpen ? "" : ": it has ended"}`
  const shown = looking.messages.slice(-Math.max(1, room - 1)).map((message) => messageLine(message, style))
  return [style.bold(head), ...(shown.length === 0 ? [style.dim("None since you look.")] : shown)]
}

const treeOf = ({ filter, selected, snapshot }: State, room: number, style: Style): ReadonlyArray<string> => {
  const tree = lines(snapshot, filter, style)
  const isSelected = (key: string | undefined) => key !== undefined && key === selected
  const at = tree.findIndex(({ key }) => isSelected(key))
  const from = Math.max(0, Math.min(at - Math.floor(room / 2), tree.length - room))
  return tree.slice(from, from + room).map(({ key, request, text }) => {
    const mark = isSelected(key) ? style.bold("›") : " "
    return request === undefined ? `${mark} ${text}` : `${mark}${text.slice(1)}`
  })
}

const keys = "up, down: select   i: interrupt   m: messages   l: log level   d: drain   q: leave"

const promptOf = (state: State, { asks, text }: ActionPrompt): string => {
  const line = selectedLine(state)
  if (asks === "interrupt") return `Why is request ${line?.request?.key ?? ""} interrupted? ${text}`
  if (asks === "level") return `Log level of ${line?.session ?? ""} (debug, info, warning, error ...): ${text}`
  const what = line?.node === undefined ? "the server" : line.node
  return `Type ${drainWord} to let ${what} take nothing new and end its sessions: ${text}`
}

/** What is on the screen, line by line. */
export const frame = (
  state: State,
  { columns, rows }: { readonly columns: number; readonly rows: number },
  style: Style
): ReadonlyArray<string> => {
  const { looking, note, prompt, snapshot } = state
  const room = Math.max(1, rows - 3)
  const shown = looking === undefined ? treeOf(state, room, style) : messagesOf(state, room, style).slice(0, room)
  const idle = style.dim(looking === undefined ? keys : "m: back   q: leave")
  const last = prompt === undefined ? idle : safeLine(promptOf(state, prompt))
  const head = `${style.bold("effect-mcp top")}  ${summary(snapshot)}`
  return [head, "", ...shown, last + (note === "" ? "" : `   ${style.yellow(safeLine(note))}`)].map((line) =>
    fitted(line, columns)
  )
}

/** Draws over what is there: nothing is cleared before it is written anew, so nothing flickers. */
export const drawing = (frame: ReadonlyArray<string>): string =>
  `\u001b[H${frame.map((line) => `${line}\u001b[K`).join("\r\n")}\u001b[J`
