/**
 * `--output FILE`: the bytes of an answer in files instead of on the screen.
 */
import * as Base64 from "effect/encoding/Base64"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import { code, CommandFailure, usage } from "../terminal/Exit.ts"
import { Output } from "../terminal/Output.ts"
import type { Binary } from "../render/Content.ts"
import { exact, size } from "../render/Text.ts"

/** The bytes, or exit code 3: the server said base64 and sent another text. */
const decode = ({ base64 }: Binary): Effect.Effect<Uint8Array, CommandFailure> =>
  Effect.mapError(
    Effect.fromResult(Base64.decode(base64)),
    () => new CommandFailure({ code: code.connection, message: "The server sent bytes that are not base64" })
  )

/** `out.png`, `out-2.png`, `out-3.png` ... */
export const numbered = (path: Path.Path, file: string, index: number): string => {
  if (index === 0) return file
  const { dir, ext, name } = path.parse(file)
  return path.join(dir, `${name}-${index + 1}${ext}`)
}

const put = Effect.fnUntraced(function* (file: string, bytes: Uint8Array) {
  const fs = yield* FileSystem.FileSystem
  const output = yield* Output
  yield* Effect.mapError(fs.writeFile(file, bytes), ({ message }) => usage(`Cannot write ${file}: ${message}`))
  yield* output.note(`Wrote ${size(bytes.length)} to ${file}`)
})

/** Saves every binary part (numbered from the second on); the text instead if there is none. `-` is stdout. */
export const save = Effect.fnUntraced(function* (file: string, parts: ReadonlyArray<Binary>, text: string) {
  const path = yield* Path.Path
  const output = yield* Output
  if (file === "-" && output.isTerminal) {
    yield* parts.length === 0
      ? output.write(exact(output, text))
      : usage("--output - would write bytes to the terminal: send stdout to a file or a pipe, or name a FILE")
    return
  }
  const all = parts.length === 0 ? [new TextEncoder().encode(text)] : yield* Effect.forEach(parts, decode)
  for (const [index, bytes] of all.entries()) {
    yield* file === "-" ? output.write(bytes) : put(numbered(path, file, index), bytes)
  }
})
