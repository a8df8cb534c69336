/** The live view as terminal lines. Pure. */
import type { Message } from "@effect-mcp/operate/Admin"
import { displayWidth } from "effect/cli/CliOutput"
import { size } from "../render/Text.ts"
import { safeLine, type Style } from "../terminal/Style.ts"
import { drainWord, type ActionPrompt, selectedLine, type State } from "./State.ts"
import { rates, tools } from "./Rates.ts"
import { headings, identity, lines, summary } from "./Tree.ts"

/** Truncates a line with colors to a width. Escape sequences take no room. */
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
  return [style.bold(head), ...(shown.length === 0 ? [style.dim("None since you started watching.")] : shown)]
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

const keys =
  "up, down: select   /: filter   s: sort   t: tools   i: interrupt   m: messages   l: log level   d: drain   q: quit"
/** A smaller terminal has no room for headings. */
const rowsForHeadings = 8

const promptOf = (state: State, { asks, text }: ActionPrompt): string => {
  if (asks === "filter") return `Show requests with this text: ${text}`
  const line = selectedLine(state)
  if (asks === "interrupt") return `Why is request ${line?.request?.key ?? ""} interrupted? ${text}`
  if (asks === "level") return `Log level of ${line?.session ?? ""} (debug, info, warning, error ...): ${text}`
  const what = line?.node === undefined ? "the server" : line.node
  return `Type ${drainWord} to make ${what} reject new work and end its sessions: ${text}`
}

/** Renders the screen, line by line. */
export const frame = (
  state: State,
  { columns, rows }: { readonly columns: number; readonly rows: number },
  style: Style
): ReadonlyArray<string> => {
  const { filter, looking, note, prompt, recent, showsTools = false, snapshot } = state
  const hasHeadings = looking === undefined && !showsTools && rows >= rowsForHeadings
  const room = Math.max(1, rows - (hasHeadings ? 4 : 3))
  const other = looking === undefined ? tools(recent, snapshot.requests, style) : messagesOf(state, room, style)
  const shown = looking === undefined && !showsTools ? treeOf(state, room, style) : other.slice(0, room)
  const back = looking === undefined ? "t: back   q: quit" : "m: back   q: quit"
  const idle = style.dim(looking === undefined && !showsTools ? keys : back)
  const last = prompt === undefined ? idle : safeLine(promptOf(state, prompt))
  const server = identity(snapshot)
  const head = `${style.bold(server === "" ? "effect-mcp top" : server)}  ${summary(snapshot)}`
  const columnHeads = hasHeadings ? [style.bold(headings(snapshot, filter))] : []
  return [
    head,
    rates(recent, style),
    ...columnHeads,
    ...shown,
    last + (note === "" ? "" : `   ${style.yellow(safeLine(note))}`)
  ].map((line) => fitted(line, columns))
}

/** Overwrites the screen without clearing it first, which would flicker. */
export const drawing = (frame: ReadonlyArray<string>): string =>
  `\u001b[H${frame.map((line) => `${line}\u001b[K`).join("\r\n")}\u001b[J`
