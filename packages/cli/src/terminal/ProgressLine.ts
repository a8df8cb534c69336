/** Formats a call's progress as one line: a bar if the total is known, otherwise a counter. */
import { displayWidth } from "effect/cli/CliOutput"
import { safeLine, type Style } from "./Style.ts"

interface Progress {
  readonly progress: number
  readonly total?: number | undefined
  readonly message?: string | undefined
}

const cells = 24

/** Returns a line of at most `width` columns, because a wrapped line could not be erased. The message is shortened first. */
export const line = ({ message, progress, total }: Progress, width: number, style: Style): string => {
  const known = total !== undefined && total > 0
  const share = known ? Math.min(1, Math.max(0, progress / total)) : 0
  const full = Math.round(share * cells)
  const bar = known
    ? `${style.green("█".repeat(full))}${style.dim("░".repeat(cells - full))} ${String(Math.floor(share * 100)).padStart(3)}%  `
    : ""
  // A task's progress may consist of only a message.
  if (!known && progress === 0 && message !== undefined) return shorten(safeLine(message), width - 1)
  const count = known ? `${progress}/${total}` : String(progress)
  const head = `${bar}${count}`
  const room = width - displayWidth(head) - 3
  return message === undefined || room < 4 ? head : `${head}  ${shorten(safeLine(message), room)}`
}

const shorten = (text: string, width: number): string => {
  if (displayWidth(text) <= width) return text
  let short = ""
  for (const character of text) {
    if (displayWidth(short + character) > width - 1) break
    short += character
  }
  return `${short}…`
}
