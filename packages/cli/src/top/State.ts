/** The live view's state on a terminal, and how keys change it. Pure. */
import type { Message, Recent, Snapshot } from "@effect-mcp/operate/Admin"
import * as Option from "effect/Option"
import type * as Terminal from "effect/Terminal"
import { plain } from "../terminal/Style.ts"
import { type Filter, type TreeLine, lines, sorts } from "./Tree.ts"

/** An action that needs more input, and the text typed so far. */
export interface ActionPrompt {
  readonly asks: "interrupt" | "level" | "drain" | "filter"
  readonly text: string
}

export interface State {
  readonly snapshot: Snapshot
  /** The last 15 minutes, or `undefined` if the server keeps no history. */
  readonly recent?: Recent | undefined
  /** True if the tools are shown instead of the tree. */
  readonly showsTools?: boolean | undefined
  readonly filter: Filter
  /** The selected line's key. */
  readonly selected: string | undefined
  readonly prompt: ActionPrompt | undefined
  /** The session being viewed, and its messages. */
  readonly looking: { readonly session: string; readonly messages: ReadonlyArray<Message> } | undefined
  /** The last event, shown to the user. */
  readonly note: string
}

export const initial = (snapshot: Snapshot, filter: Filter): State =>
  refreshed({ snapshot, filter, selected: undefined, prompt: undefined, looking: undefined, note: "" }, snapshot)

/** The new state after a key, and the key's action. */
export type KeyAction =
  | { readonly interrupt: string; readonly reason: string }
  | { readonly level: string; readonly session: string }
  | { readonly drain: string | undefined }
  | { readonly look: string }
  | "quit"
  | undefined

type Step = readonly [State, KeyAction]

const longest = 200
/** The word to type before draining, so that one wrong key does nothing. */
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

/** Returns the state with newer rows. The selection stays on its line, or moves to the first request or else the first session. */
export const refreshed = (state: State, snapshot: Snapshot): State => {
  const next = { ...state, snapshot }
  const all = linesOf(next)
  if (all.some(({ key }) => key === state.selected)) return next
  const first = all.find(({ request }) => request !== undefined) ?? all[0]
  const prompt = state.prompt?.asks === "filter" ? state.prompt : undefined
  return { ...next, selected: first?.key, prompt }
}

/** Returns the action for the typed text once it is complete. */
const confirmed = (state: State, { asks, text }: ActionPrompt): KeyAction => {
  if (asks === "filter") return undefined
  const line = selectedLine(state)
  const typed = text.trim()
  if (asks === "drain") return typed === drainWord ? { drain: line?.node } : undefined
  if (typed === "" || line === undefined) return undefined
  if (asks === "level") return line.session === undefined ? undefined : { level: typed, session: line.session }
  return line.request === undefined ? undefined : { interrupt: line.request.key, reason: typed }
}

/** Returns the state with more or less text. A filter applies as it is typed. */
const withText = (state: State, { asks }: ActionPrompt, text: string): State => {
  const next = { ...state, prompt: { asks, text } }
  if (asks !== "filter") return next
  return refreshed({ ...next, filter: { ...state.filter, text } }, state.snapshot)
}

/** Handles a key while text is being typed. */
const typed = (state: State, prompt: ActionPrompt, { input, key }: Terminal.UserInput): Step => {
  if (key.name === "escape") return [{ ...state, prompt: undefined }, undefined]
  if (key.name === "backspace") return [withText(state, prompt, prompt.text.slice(0, -1)), undefined]
  if (key.name === "return" || key.name === "enter") {
    return [{ ...state, prompt: undefined }, confirmed(state, prompt)]
  }
  const text = Option.getOrElse(input, () => "")
  if (key.ctrl || key.meta || !/^[ -~\u00a0-\uffff]+$/.test(text)) return [state, undefined]
  return [withText(state, prompt, `${prompt.text}${text}`.slice(0, longest)), undefined]
}

const asking = (state: State, asks: ActionPrompt["asks"], isPossible: boolean, why: string): Step =>
  isPossible ? [{ ...state, prompt: { asks, text: "" }, note: "" }, undefined] : [{ ...state, note: why }, undefined]

const look = (state: State, session: string | undefined): Step =>
  session === undefined
    ? [{ ...state, note: "Only sessions have messages. Select a session" }, undefined]
    : [{ ...state, looking: { session, messages: [] }, note: "" }, { look: session }]

/** Returns the next sort order of requests. */
const sorted = (state: State): State => {
  const { filter, snapshot } = state
  const sort = sorts[(sorts.indexOf(filter.sort ?? "age") + 1) % sorts.length] ?? "age"
  return { ...refreshed({ ...state, filter: { ...filter, sort } }, snapshot), note: `Sorted by ${sort}` }
}

/** Returns the state after a key, and the action to take. */
export const update = (state: State, pressed: Terminal.UserInput): Step => {
  const { key } = pressed
  if (key.ctrl && key.name === "c") return [state, "quit"]
  if (state.prompt !== undefined) return typed(state, state.prompt, pressed)
  const { request, session } = selectedLine(state) ?? {}
  switch (key.name) {
    case "q":
      return [state, "quit"]
    case "escape":
      return [{ ...state, looking: undefined, showsTools: false }, undefined]
    case "s":
      return [sorted(state), undefined]
    case "t":
      return [{ ...state, showsTools: state.showsTools !== true, looking: undefined }, undefined]
    case "/":
      return [{ ...state, prompt: { asks: "filter", text: state.filter.text ?? "" }, note: "" }, undefined]
    case "up":
    case "k":
      return [move(state, -1), undefined]
    case "down":
    case "j":
      return [move(state, 1), undefined]
    case "i":
      return asking(state, "interrupt", request !== undefined, "Select a request to interrupt it")
    case "l":
      return asking(state, "level", session !== undefined, "Only sessions have a log level. Select a session")
    case "d":
      return asking(state, "drain", true, "")
    case "m":
      return state.looking === undefined ? look(state, session) : [{ ...state, looking: undefined }, undefined]
    default:
      return [state, undefined]
  }
}
