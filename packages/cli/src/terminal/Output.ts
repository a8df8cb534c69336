/**
 * Where a command writes: data to stdout; everything else (notes, logs, the progress line, questions) to stderr.
 *
 * Owns the one live line at the bottom of the terminal: it is lifted for whatever else is written to stderr or stdout, and put back.
 * While a question is on the screen everything waits, so that nothing is drawn over it. The last gate for text of a server: see `Style`.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Semaphore from "effect/Semaphore"
import { OutputClosed } from "./Exit.ts"
import * as Style from "./Style.ts"

export class Output extends Context.Service<
  Output,
  {
    /** Data: exact, but text on a terminal has unseen characters escaped. */
    readonly write: (data: string | Uint8Array) => Effect.Effect<void, OutputClosed>
    /** One line (or several) of data. */
    readonly line: (text: string) => Effect.Effect<void, OutputClosed>
    /** A line for people, on stderr. */
    readonly note: (text: string) => Effect.Effect<void>
    /** Replaces the live line; nothing on a stderr that is no terminal. */
    readonly live: (text: string | undefined) => Effect.Effect<void>
    /** True if stderr is a terminal, which gets a live line. */
    readonly isLive: boolean
    /** Has the screen for itself: for questions. Everything else waits; `say` does not, and writes a line to stderr. */
    readonly exclusive: <A, E, R>(
      dialogue: (say: (text: string) => Effect.Effect<void>) => Effect.Effect<A, E, R>
    ) => Effect.Effect<A, E, R>
    /** Of stdout. */
    readonly style: Style.Style
    /** Of stderr. */
    readonly noteStyle: Style.Style
    /** Columns of stderr's terminal. */
    readonly noteWidth: number
    /** Columns of stdout; none when it is no terminal: then nothing is wrapped, and text is exact. */
    readonly width: number | undefined
    readonly isTerminal: boolean
    /** Whether a question can be asked: stdin and stderr are a terminal. */
    readonly canAsk: boolean
  }
>()("@effect-mcp/cli/Output") {
  /** The streams of this process. */
  static readonly layer: Layer.Layer<Output> = Layer.effect(
    Output,
    Effect.suspend(() => make(process))
  )
}

/** The part of a writable stream that is used here. */
export interface Writable {
  readonly isTTY?: boolean | undefined
  readonly columns?: number | undefined
  readonly write: (data: string | Uint8Array, done: (error?: Error | null) => void) => boolean
  readonly on: (event: "error", listener: (error: Error) => void) => unknown
}

export interface Streams {
  readonly env: { readonly [name: string]: string | undefined }
  readonly stdin: { readonly isTTY?: boolean | undefined }
  readonly stdout: Writable
  readonly stderr: Writable
}

/** Some terminals do not know their size, and say 0. */
const columnsOf = ({ columns }: Writable): number => (columns === undefined || columns === 0 ? 80 : columns)

const eraseLine = "\r\u001b[2K"

/** Over any two streams. */
export const make = Effect.fnUntraced(function* ({
  env,
  stderr,
  stdin,
  stdout
}: Streams): Effect.fn.Return<Output["Service"]> {
  // A broken pipe is reported to the writer; unheard, it would end the process with a stack trace.
  stdout.on("error", () => {})
  stderr.on("error", () => {})
  const screen = yield* Semaphore.make(1)
  const outTerminal = stdout.isTTY === true
  const errTerminal = stderr.isTTY === true && env.TERM !== "dumb"
  let live: string | undefined

  const put = (stream: Writable, data: string | Uint8Array): Effect.Effect<void, OutputClosed> =>
    Effect.callback((resume) => {
      stream.write(data, (error) => resume(error ? Effect.fail(new OutputClosed()) : Effect.void))
    })
  const err = (text: string) => Effect.ignore(put(stderr, text))
  const style = Style.detect(env, outTerminal)
  const noteStyle = Style.detect(env, stderr.isTTY === true)
  const note = (text: string): string => `${Style.safeOutput(text, noteStyle.colours)}\n`
  /** Lifts the live line for the time of `effect`, if there is one that could be hit. */
  const lifted = <A, E, R>(shared: boolean, effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    screen.withPermit(
      Effect.suspend(() => {
        if (live === undefined || !shared) return effect
        const restore = Effect.suspend(() => (live === undefined ? Effect.void : err(live)))
        return Effect.ensuring(Effect.andThen(err(eraseLine), effect), restore)
      })
    )
  const write: Output["Service"]["write"] = (data) =>
    lifted(
      outTerminal,
      put(stdout, outTerminal && typeof data === "string" ? Style.safeOutput(data, style.colours) : data)
    )

  return Output.of({
    write,
    line: (text) => write(`${text}\n`),
    note: (text) => lifted(errTerminal, err(note(text))),
    live: (text) =>
      errTerminal
        ? screen.withPermit(
            Effect.suspend(() => {
              const shown = text === undefined ? undefined : Style.safeOutput(text, noteStyle.colours)
              if (shown === live) return Effect.void
              live = shown
              return err(`${eraseLine}${live ?? ""}`)
            })
          )
        : Effect.void,
    exclusive: (dialogue) =>
      lifted(
        errTerminal,
        Effect.suspend(() => dialogue((text) => err(note(text))))
      ),
    isLive: errTerminal,
    style,
    noteStyle,
    noteWidth: columnsOf(stderr),
    width: outTerminal ? Math.max(40, columnsOf(stdout)) : undefined,
    isTerminal: outTerminal,
    canAsk: stdin.isTTY === true && errTerminal
  })
})
