/** What the live view on a terminal shows, and what a key does to it. Pure. */
import type { Message, Snapshot } from "@effect-mcp/operate/Admin"
import * as Option from "effect/Option"
import type * as Terminal from "effect/Terminal"
import { plain } from "../terminal/Style.ts"
import { type Filter, type TreeLine, lines } from "./Tree.ts"

/** What is typed before an action. */
export interface ActionPrompt {
  readonly asks: "interrupt" | "level" | "drain"
  readonly text: string
}

export interface State {
  readonly snapshot: Snapshot
  readonly filter: Filter
  /** The key of the selected line. */
  readonly selected: string | undefined
  readonly prompt: ActionPrompt | undefined
  /** The session that is looked into, and its messages. */
  readonly looking: { readonly session: string; readonly messages: ReadonlyArray<Message> } | undefined
  /** What happened last. */
  readonly note: string
}

export const initial = (snapshot: Snapshot, filter: Filter): State =>
  refreshed({ snapshot, filter, selected: undefined, prompt: undefined, looking: undefined, note: "" }, snapshot)

/** What a key asks for beside a new state. */
export type KeyAction =
  | { readonly interrupt: string; readonly reason: string }
  | { readonly level: string; readonly session: string }
  | { readonly drain: string | undefined }
  | { readonly look: string }
  | "quit"
  | undefined

type Step = readonly [State, KeyAction]

const longest = 200
/** What is typed to drain: a key that was hit by mistake ends nothing. */
export const drainWord = "drain"

const linesOf = ({ filter, snapshot }: State): ReadonlyArray<TreeLine> =>
  lines(snapshot, filter, plain).filter(({ key }) => key !== undefined)

export const selectedLine = (state: State): TreeLine | undefined =>
  linesOf(state).find(({ key }) => key === state.selected)

const move = (state: State, by: number): State => {
  const keys = linesOf(state).map(({ key }) => key)
  const at = keys.indexOf(state.selected ?? "")
  return { ...state, selected: keys[Math.min(keys.length - 1, Math.max(0, at + by))] }
}

/** The state with newer rows; the selection stays on its line, or goes to the first request, or the first session. */
export const refreshed = (state: State, snapshot: Snapshot): State => {
  const next = { ...state, snapshot }
  const all = linesOf(next)
  if (all.some(({ key }) => key === state.selected)) return next
  const first = all.find(({ request }) => request !== undefined) ?? all[0]
  return { ...next, selected: first?.key, prompt: undefined }
}

/** What was typed, once it is complete. */
const confirmed = (state: State, { asks, text }: ActionPrompt): KeyAction => {
  const line = selectedLine(state)
  const typed = text.trim()
  if (asks === "drain") return typed === drainWord ? { drain: line?.node } : undefined
  if (typed === "" || line === undefined) return undefined
  if (asks === "level") return line.session === undefined ? undefined : { level: typed, session: line.session }
  return line.request === undefined ? undefined : { interrupt: line.request.key, reason: typed }
}

/** A key while a text is typed. */
const typed = (state: State, prompt: ActionPrompt, { input, key }: Terminal.UserInput): Step => {
  if (key.name === "escape") return [{ ...state, prompt: undefined }, undefined]
  if (key.name === "backspace") return [{ ...state, prompt: { ...prompt, text: prompt.text.slice(0, -1) } }, undefined]
  if (key.name === "return" || key.name === "enter") {
    return [{ ...state, prompt: undefined }, confirmed(state, prompt)]
  }
  const text = Option.getOrElse(input, () => "")
  if (key.ctrl || key.meta || !/^[ -~\u00a0-\uffff]+$/.test(text)) return [state, undefined]
  return [{ ...state, prompt: { ...prompt, text: `${prompt.text}${text}`.slice(0, longest) } }, undefined]
}

const asking = (state: State, asks: ActionPrompt["asks"], isPossible: boolean, why: string): Step =>
  isPossible ? [{ ...state, prompt: { asks, text: "" }, note: "" }, undefined] : [{ ...state, note: why }, undefined]

const look = (state: State, session: string | undefined): Step =>
  session === undefined
    ? [{ ...state, note: "Only sessions have messages: select one" }, undefined]
    : [{ ...state, looking: { session, messages: [] }, note: "" }, { look: session }]

/** The state after a key, and what is to be done. */
export const update = (state: State, pressed: Terminal.UserInput): Step => {
  const { key } = pressed
  if (key.ctrl && key.name === "c") return [state, "quit"]
  if (state.prompt !== undefined) return typed(state, state.prompt, pressed)
  const { request, session } = selectedLine(state) ?? {}
  switch (key.name) {
    case "q":
      return [state, "quit"]
    case "escape":
      return [{ ...state, looking: undefined }, undefined]
    case "up":
    case "k":
      return [move(state, -1), undefined]
    case "down":
    case "j":
      return [move(state, 1), undefined]
    case "i":
      return asking(state, "interrupt", request !== undefined, "Select a request to interrupt it")
    case "l":
      return asking(state, "level", session !== undefined, "Only sessions have a log level: select one")
    case "d":
      return asking(state, "drain", true, "")
    case "m":
      return state.looking === undefined ? look(state, session) : [{ ...state, looking: undefined }, undefined]
    default:
      return [state, undefined]
  }
}
