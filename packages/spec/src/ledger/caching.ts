/** Requirements on caching hints and on the caches that follow them. */
import { at, client, requirements, server, since } from "../Requirement.ts"

const july = since("2026-07-28")
const page = "server/utilities/caching"

export const caching = requirements(
  at(`${page}#cacheable-results`, july, {
    "caching.hints.included": server.must("Complete results of discovery, lists and reads carry caching hints."),
    "caching.hints.not-interim": server.must("A result that asks for input carries no caching hints.", { plain: true })
  }),
  at(`${page}#cache-key`, july, {
    "caching.key.method-and-params": client.mustNot(
      "A cached result is never served for another method or other parameters."
    ),
    "caching.key.no-retries": client.mustNot("A result of a request with answers or a state is never cached.")
  }),
  at(`${page}#time-to-live-ttl-field`, july, {
    "caching.ttl.zero": client.should("With a time to live of 0, a result is immediately stale."),
    "caching.ttl.positive": client.should("A result is fresh for its time to live, counted from when it arrived."),
    "caching.ttl.absent": client.should("A time to live that is absent is taken as 0."),
    "caching.ttl.negative": client.should("A negative time to live is taken as 0."),
    "caching.ttl.not-negative": server.must("The time to live of a result is never negative.")
  }),
  at(`${page}#freshness-calculation`, july, {
    "caching.stale.fetched-again": client.should("A stale result is fetched again when it is needed next."),
    "caching.ttl.not-polled": client.shouldNot("The time to live does not start fetches in the background."),
    "caching.polling.jitter": client.must("Polling has jitter and backoff.", {
      note: "The library never polls."
    })
  }),
  at(`${page}#cache-scope-field`, july, {
    "caching.scope.private": client.mustNot("A private result is never shared between authorization contexts.")
  }),
  at(`${page}#interaction-with-notifications`, july, {
    "caching.notification.invalidates": client.should("A notification of a change makes the cached result stale.", {
      plain: true
    })
  }),
  at(`${page}#interaction-with-pagination`, july, {
    "caching.page.fetched-again": client.should("A stale page is fetched again by its cursor."),
    "caching.pages.snapshot": client.should("A consistent list is fetched from its beginning."),
    "caching.pages.discarded": client.should("An invalid cursor discards all cached pages of its list."),
    "caching.pages.same-scope": server.must("All pages of a list have the same scope.")
  }),
  at(`${page}#security-considerations`, july, {
    "caching.public.shared": server.must("A server only marks a result as public if all callers may see it.", {
      note: "The author of the server chooses the scope; the default is private."
    }),
    "caching.access.controlled": server.must("A server controls access to each primitive."),
    "caching.access.not-by-scope": server.mustNot("The cache scope alone never protects a primitive.")
  })
)
