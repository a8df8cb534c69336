/** Writes a result's binary data to files (`--output FILE`). */
import * as Base64 from "effect/encoding/Base64"
import * as Effect from "effect/Effect"
import * as Path from "effect/Path"
import { code, CommandFailure, usage } from "../terminal/Exit.ts"
import * as Files from "../terminal/Files.ts"
import { Output } from "../terminal/Output.ts"
import type { Binary } from "../render/Content.ts"
import { exact, size } from "../render/Text.ts"

/** Decodes base64. Invalid base64 is the server's fault and ends with exit code 3. */
const decode = ({ base64 }: Binary): Effect.Effect<Uint8Array, CommandFailure> =>
  Effect.mapError(
    Effect.fromResult(Base64.decode(base64)),
    () => new CommandFailure({ code: code.connection, message: "The server sent bytes that are not base64" })
  )

/** Returns the name of the nth file: `out.png`, `out-2.png`, `out-3.png` ... */
export const numbered = (path: Path.Path, file: string, index: number): string => {
  if (index === 0) return file
  const { dir, ext, name } = path.parse(file)
  return path.join(dir, `${name}-${index + 1}${ext}`)
}

const put = Effect.fnUntraced(function* (file: string, bytes: Uint8Array) {
  const output = yield* Output
  yield* Files.write(file, bytes)
  yield* output.note(`Wrote ${size(bytes.length)} to ${file}`)
})

/** Saves bytes. `-` is stdout. */
export const saveBytes = Effect.fnUntraced(function* (file: string, bytes: Uint8Array) {
  const output = yield* Output
  yield* file !== "-"
    ? put(file, bytes)
    : output.isTerminal
      ? usage("--output - would write bytes to the terminal. Redirect stdout to a file or a pipe, or pass a FILE")
      : output.write(bytes)
})

/** Saves all binary parts, numbered from the second on, or else the text. `-` is stdout. */
export const save = Effect.fnUntraced(function* (file: string, parts: ReadonlyArray<Binary>, text: string) {
  const path = yield* Path.Path
  const output = yield* Output
  if (file === "-" && output.isTerminal) {
    yield* parts.length === 0
      ? output.write(exact(output, text))
      : usage("--output - would write bytes to the terminal. Redirect stdout to a file or a pipe, or pass a FILE")
    return
  }
  const all = parts.length === 0 ? [new TextEncoder().encode(text)] : yield* Effect.forEach(parts, decode)
  for (const [index, bytes] of all.entries()) {
    yield* file === "-" ? output.write(bytes) : put(numbered(path, file, index), bytes)
  }
})
