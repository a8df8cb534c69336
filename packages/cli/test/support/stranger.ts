/** A process that becomes a user that owns no file, and asks for the place that its argument names: it prints why it is refused. */
import * as Place from "../../src/top/Place.ts"
import { Effect } from "effect"

// Once all modules are loaded: that user may have no right to read them.
process.setgroups?.([])
process.setgid?.(65_534)
process.setuid?.(65_534)
const [target = ""] = process.argv.slice(2)
const why = Effect.match(Place.of(target), {
  onFailure: ({ message }) => message,
  onSuccess: () => "It is not refused"
})
process.stdout.write(await Effect.runPromise(why))
