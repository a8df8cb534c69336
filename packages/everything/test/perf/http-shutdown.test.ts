/** How long the end of a server takes while a thousand streams stand open. */
import { assert, it } from "@effect/vitest"
import { Duration, Effect } from "effect"
import { end, servers } from "../support/open-streams.ts"

it.live.each(servers)(
  "A thousand open streams%s do not hold up the end of the server for two seconds",
  ([, kinds, ...args]) => Effect.map(end(1000, kinds, args), (took) => assert.isBelow(Duration.toMillis(took), 2000))
)
