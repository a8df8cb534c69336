/** A process that switches to a user without files and accesses the path in its argument. Prints the reason why it fails. */
import * as Place from "../../src/top/Place.ts"
import { Effect } from "effect"

// Switches after loading all modules, because that user may not be able to read them.
process.setgroups?.([])
process.setgid?.(65_534)
process.setuid?.(65_534)
const [target = ""] = process.argv.slice(2)
const why = Effect.match(Place.of(target), {
  onFailure: ({ message }) => message,
  onSuccess: () => "It is not refused"
})
process.stdout.write(await Effect.runPromise(why))
