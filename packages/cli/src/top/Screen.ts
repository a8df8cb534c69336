/**
 * The live view on a terminal: redrawn in place whenever something changes, with one request selected, which can be interrupted.
 *
 * Owns the alternate screen, and gives the terminal back however it ends. `update` and `frame` are pure.
 */
import type { Snapshot } from "@effect-mcp/operate/Admin"
import { displayWidth } from "effect/cli/CliOutput"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import * as Terminal from "effect/Terminal"
import type { Failure } from "../Exit.ts"
import { safeLine, type Style } from "../Style.ts"
import type { Endpoint } from "./Endpoint.ts"
import { type Filter, lines, summary } from "./Tree.ts"

export interface State {
  readonly snapshot: Snapshot
  readonly filter: Filter
  /** The key of the selected request. */
  readonly selected: string | undefined
  /** The reason that is being typed. */
  readonly reason: string | undefined
  /** What happened last. */
  readonly note: string
}

/** What a key asks for beside a new state. */
export type Action = { readonly interrupt: string; readonly reason: string } | "quit" | undefined

type Step = readonly [State, Action]

const longestReason = 200

const keysOf = ({ filter, snapshot }: State): ReadonlyArray<string> =>
  lines(snapshot, filter, plainStyle).flatMap(({ request }) => request?.key ?? [])

const plain = (text: string): string => text
const plainStyle: Style = {
  colours: false,
  bold: plain,
  dim: plain,
  red: plain,
  green: plain,
  yellow: plain,
  cyan: plain
}

const move = (state: State, by: number): State => {
  const keys = keysOf(state)
  const at = keys.indexOf(state.selected ?? "")
  return { ...state, selected: keys[Math.min(keys.length - 1, Math.max(0, at + by))] }
}

/** A key while a reason is typed. */
const typed = (state: State, reason: string, { input, key }: Terminal.UserInput): Step => {
  if (key.name === "escape") return [{ ...state, reason: undefined }, undefined]
  if (key.name === "backspace") return [{ ...state, reason: reason.slice(0, -1) }, undefined]
  if (key.name === "return" || key.name === "enter") {
    const { selected } = state
    const next = { ...state, reason: undefined }
    return reason.trim() === "" || selected === undefined
      ? [next, undefined]
      : [next, { interrupt: selected, reason: reason.trim() }]
  }
  const text = Option.getOrElse(input, () => "")
  if (key.ctrl || key.meta || !/^[ -~\u00a0-\uffff]+$/.test(text)) return [state, undefined]
  return [{ ...state, reason: `${reason}${text}`.slice(0, longestReason) }, undefined]
}

/** The state after a key, and what is to be done. */
export const update = (state: State, pressed: Terminal.UserInput): Step => {
  const { key } = pressed
  if (key.ctrl && key.name === "c") return [state, "quit"]
  if (state.reason !== undefined) return typed(state, state.reason, pressed)
  switch (key.name) {
    case "q":
      return [state, "quit"]
    case "up":
    case "k":
      return [move(state, -1), undefined]
    case "down":
    case "j":
      return [move(state, 1), undefined]
    case "i":
      return [state.selected === undefined ? state : { ...state, reason: "" }, undefined]
    default:
      return [state, undefined]
  }
}

/** The state with newer rows; the selection stays on its request, or goes to the first. */
export const refreshed = (state: State, snapshot: Snapshot): State => {
  const next = { ...state, snapshot }
  const keys = keysOf(next)
  return keys.includes(state.selected ?? "") ? next : { ...next, selected: keys[0], reason: undefined }
}

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

/** What is on the screen, line by line. */
export const frame = (
  state: State,
  { columns, rows }: { readonly columns: number; readonly rows: number },
  style: Style
): ReadonlyArray<string> => {
  const { filter, note, reason, selected, snapshot } = state
  const tree = lines(snapshot, filter, style)
  const room = Math.max(1, rows - 3)
  const at = tree.findIndex(({ request }) => request !== undefined && request.key === selected)
  const from = Math.max(0, Math.min(at - Math.floor(room / 2), tree.length - room))
  const shown = tree
    .slice(from, from + room)
    .map(({ request, text }) =>
      request !== undefined && request.key === selected ? `${style.bold("›")}${text.slice(1)}` : text
    )
  const prompt =
    reason === undefined
      ? style.dim("up, down: select   i: interrupt   q: leave")
      : safeLine(`Why is request ${selected ?? ""} interrupted? ${reason}`)
  const head = `${style.bold("effect-mcp top")}  ${summary(snapshot)}`
  return [head, "", ...shown, prompt + (note === "" ? "" : `   ${style.yellow(safeLine(note))}`)].map((line) =>
    fitted(line, columns)
  )
}

/** Draws over what is there: nothing is cleared before it is written anew, so nothing flickers. */
export const drawing = (frame: ReadonlyArray<string>): string =>
  `\u001b[H${frame.map((line) => `${line}\u001b[K`).join("\r\n")}\u001b[J`

type Event = { readonly snapshot: Snapshot } | { readonly key: Terminal.UserInput } | "end"

/** Shows what runs until the operator leaves. */
export const show = Effect.fnUntraced(function* (
  endpoint: Endpoint,
  filter: Filter,
  every: Duration.Input,
  style: Style
): Effect.fn.Return<void, Failure, Terminal.Terminal> {
  const terminal = yield* Terminal.Terminal
  const draw = (text: string) => Effect.ignore(terminal.display(text))
  const snapshot = yield* endpoint.snapshot
  const events = yield* Queue.unbounded<Event, Failure>()
  const poll = Effect.forever(
    Effect.flatMap(Effect.delay(endpoint.snapshot, every), (snapshot) => Queue.offer(events, { snapshot }))
  )
  const body = Effect.gen(function* () {
    yield* Effect.acquireRelease(draw("\u001b[?1049h\u001b[?25l"), () => draw("\u001b[?25h\u001b[?1049l"))
    const input = yield* terminal.readInput
    yield* Effect.forkScoped(Effect.catch(poll, (error) => Queue.fail(events, error)))
    yield* Effect.forkScoped(
      Effect.ensuring(
        Effect.ignore(Effect.forever(Effect.flatMap(Queue.take(input), (key) => Queue.offer(events, { key })))),
        Queue.offer(events, "end")
      )
    )
    let state = refreshed({ snapshot, filter, selected: undefined, reason: undefined, note: "" }, snapshot)
    while (true) {
      const size = { columns: yield* terminal.columns, rows: yield* terminal.rows }
      yield* draw(drawing(frame(state, size, style)))
      const event = yield* Queue.take(events)
      if (event === "end") return
      if ("snapshot" in event) {
        state = refreshed(state, event.snapshot)
        continue
      }
      const [next, action] = update(state, event.key)
      state = next
      if (action === "quit") return
      if (action === undefined) continue
      const was = yield* endpoint.interrupt(action.interrupt, action.reason)
      const note = was ? `Request ${action.interrupt} was interrupted` : `Request ${action.interrupt} had ended`
      state = refreshed({ ...state, note }, yield* endpoint.snapshot)
    }
  })
  yield* Effect.scoped(body)
})
