/**
 * Commands write data to stdout, and everything else (notes, logs, progress, questions) to stderr.
 *
 * Owns the live line at the bottom of the terminal, which is erased and redrawn around other output. While a question is on the screen, all
 * other output waits. Escapes text from servers, as the last module that sees it (see `Style`).
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
    /** Writes data. On a terminal, invisible characters are escaped. */
    readonly write: (data: string | Uint8Array) => Effect.Effect<void, OutputClosed>
    /** Writes one or more lines of data. */
    readonly line: (text: string) => Effect.Effect<void, OutputClosed>
    /** Writes a line for people to stderr. */
    readonly note: (text: string) => Effect.Effect<void>
    /** Replaces the live line. Does nothing if stderr is not a terminal. */
    readonly live: (text: string | undefined) => Effect.Effect<void>
    /** True if stderr is a terminal and can show a live line. */
    readonly isLive: boolean
    /** Runs a dialogue that has the screen to itself, for questions. All other output waits, except `say`, which writes a line to stderr. */
    readonly exclusive: <A, E, R>(
      dialogue: (say: (text: string) => Effect.Effect<void>) => Effect.Effect<A, E, R>
    ) => Effect.Effect<A, E, R>
    /** Style for stdout. */
    readonly style: Style.Style
    /** Style for stderr. */
    readonly noteStyle: Style.Style
    /** Columns of stderr's terminal. */
    readonly noteWidth: number
    /** Columns of stdout, or `undefined` if it is not a terminal. Text is then not wrapped. */
    readonly width: number | undefined
    readonly isTerminal: boolean
    /** True if stdin and stderr are a terminal, so the user can be asked. */
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

/** Returns the width of a terminal. Some terminals report 0. */
const columnsOf = ({ columns }: Writable): number => (columns === undefined || columns === 0 ? 80 : columns)

const eraseLine = "\r\u001b[2K"

/** Creates the output from two streams. */
export const make = Effect.fnUntraced(function* ({
  env,
  stderr,
  stdin,
  stdout
}: Streams): Effect.fn.Return<Output["Service"]> {
  // A broken pipe is reported to the writer. Without a listener it would crash the process.
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
  /** Erases the live line while `effect` runs, if the output could hit it. */
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
