/**
 * Output of the demonstration: titled lines, and a progress bar that is redrawn
 * in place if the output is a terminal.
 */
import { escaped } from "@effect-mcp/protocol/Excerpt"
import * as Effect from "effect/Effect"

const terminal = process.stdout.isTTY
const styled = terminal && process.env["NO_COLOR"] === undefined

const style = (code: number) => (text: string) =>
  styled ? `\u001b[${code}m${text}\u001b[0m` : text
const dim = style(2)
const cyan = style(36)

const write = (text: string): Effect.Effect<void> =>
  Effect.sync(() => void process.stdout.write(text))

const indent = " ".repeat(15)

/** Prints a line. Terminal control characters from a server are escaped. */
export const line = (text: string, title = ""): Effect.Effect<void> =>
  write(`  ${cyan(title.padEnd(indent.length - 2))}${escaped(text)}\n`)

/** Prints an indented line below another one. */
export const detail = (text: string): Effect.Effect<void> =>
  write(`${indent}${dim(escaped(text))}\n`)

export const blank: Effect.Effect<void> = write("\n")

const width = 24

/**
 * Draws a progress bar in place. Without a terminal, prints a line at every
 * quarter.
 */
export const bar = (): {
  readonly show: (done: number, total: number) => Effect.Effect<void>
  readonly clear: Effect.Effect<void>
} => {
  let quarters = 0
  return {
    show: (done, total) =>
      Effect.suspend(() => {
        const share = total === 0 ? 1 : Math.min(1, done / total)
        if (terminal) {
          const full = Math.round(share * width)
          return write(
            `\r${indent}${cyan("█".repeat(full))}${dim("░".repeat(width - full))} ${done}/${total} files`
          )
        }
        const reached = Math.floor(share * 4)
        if (reached <= quarters) return Effect.void
        quarters = reached
        return detail(`${reached * 25} %  ${done}/${total} files`)
      }),
    clear: Effect.suspend(() => (terminal ? write("\r\u001b[K") : Effect.void))
  }
}
