/**
 * The live view on a terminal. It is redrawn in place after each change, and keys act on the selected line.
 *
 * Owns the alternate screen, and restores the terminal however the view ends.
 */
import type { Recent, Snapshot } from "@effect-mcp/operate/Admin"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import * as Terminal from "effect/Terminal"
import type { CommandFailure } from "../terminal/Exit.ts"
import type { Style } from "../terminal/Style.ts"
import type { AdminEndpoint } from "./Endpoint.ts"
import { drawing, frame } from "./Frame.ts"
import { averaged } from "./Rates.ts"
import { type KeyAction, initial, refreshed, type State, update } from "./State.ts"
import type { Filter } from "./Tree.ts"

/** Seconds of samples to ask for, a few more than the rates need. */
const asked = averaged + 5

type Event =
  | { readonly snapshot: Snapshot; readonly recent: Recent | undefined }
  | { readonly lost: string }
  | { readonly key: Terminal.UserInput }
  | "end"

const done = (state: State, note: string): State => ({ ...state, note })

/** The messages in the session being viewed. */
const looked = (endpoint: AdminEndpoint, state: State): Effect.Effect<State> => {
  const { looking } = state
  if (looking === undefined) return Effect.succeed(state)
  return Effect.match(endpoint.messages(looking.session), {
    onSuccess: (messages) => ({ ...state, looking: { ...looking, messages } }),
    onFailure: ({ message }) => done(state, message)
  })
}

/** Runs a key's action. Errors from the endpoint are shown, and the view continues. */
const acted = (
  endpoint: AdminEndpoint,
  state: State,
  action: Exclude<KeyAction, "quit" | undefined>
): Effect.Effect<State> => {
  if ("look" in action) return looked(endpoint, state)
  const act = Effect.suspend((): Effect.Effect<string, CommandFailure> => {
    if ("interrupt" in action) {
      const { interrupt, reason } = action
      return Effect.map(
        endpoint.interrupt(interrupt, reason),
        (was) => `Request ${interrupt} ${was ? "was interrupted" : "had ended"}`
      )
    }
    if ("level" in action) {
      const { level, session } = action
      return Effect.as(
        endpoint.level(session, level),
        `The client of ${session} now receives log messages of level ${level} and above`
      )
    }
    return Effect.map(endpoint.drain(action.drain), (began) =>
      began ? "The server is now draining" : "It is already draining"
    )
  })
  return act.pipe(
    Effect.flatMap((note) => Effect.map(endpoint.snapshot, (snapshot) => refreshed(done(state, note), snapshot))),
    Effect.catch(({ message }) => Effect.succeed(done(state, message)))
  )
}

/** Shows the running requests until the operator leaves. Fails only if the endpoint can't be reached at first. */
export const show = Effect.fnUntraced(function* (
  endpoint: AdminEndpoint,
  filter: Filter,
  every: Duration.Input,
  style: Style
): Effect.fn.Return<void, CommandFailure, Terminal.Terminal> {
  const terminal = yield* Terminal.Terminal
  const draw = (text: string) => Effect.ignore(terminal.display(text))
  const view = Effect.flatMap(endpoint.snapshot, (snapshot) =>
    Effect.map(endpoint.recent(snapshot.time - asked * 1000), (recent) => ({ snapshot, recent }))
  )
  const first = yield* view
  const events = yield* Queue.unbounded<Event>()
  // The server may restart. The operator decides when to leave.
  const next = Effect.match(Effect.delay(view, every), {
    onSuccess: (seen): Event => seen,
    onFailure: ({ message }): Event => ({ lost: `${message}. Trying again` })
  })
  const poll = Effect.forever(Effect.flatMap(next, (event) => Queue.offer(events, event)))
  const body = Effect.gen(function* () {
    yield* Effect.acquireRelease(draw("\u001b[?1049h\u001b[?25l"), () => draw("\u001b[?25h\u001b[?1049l"))
    const input = yield* terminal.readInput
    yield* Effect.forkScoped(poll)
    yield* Effect.forkScoped(
      Effect.ensuring(
        Effect.ignore(Effect.forever(Effect.flatMap(Queue.take(input), (key) => Queue.offer(events, { key })))),
        Queue.offer(events, "end")
      )
    )
    let state: State = { ...initial(first.snapshot, filter), recent: first.recent }
    let lost = ""
    while (true) {
      const size = { columns: yield* terminal.columns, rows: yield* terminal.rows }
      yield* draw(drawing(frame(state, size, style)))
      const event = yield* Queue.take(events)
      if (event === "end") return
      if ("lost" in event) {
        lost = event.lost
        state = done(state, lost)
        continue
      }
      if ("snapshot" in event) {
        const note = state.note === lost ? "" : state.note
        state = yield* looked(endpoint, refreshed({ ...state, note, recent: event.recent }, event.snapshot))
        continue
      }
      const [next, action] = update(state, event.key)
      if (action === "quit") return
      state = action === undefined ? next : yield* acted(endpoint, next, action)
    }
  })
  yield* Effect.scoped(body)
})
