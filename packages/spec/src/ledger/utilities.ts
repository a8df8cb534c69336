/** Requirements on cancellation, ping and progress. */
import { at, both, client, every, host, only, requirements, server, since, stateful } from "../Requirement.ts"

export const cancellation = requirements(
  at("basic/utilities/cancellation#behavior-requirements", every, {
    "cancellation.sender.in-progress": both.must(
      "A cancellation names a request that its sender believes to be in progress."
    ),
    "cancellation.receiver.stops": both.should("The receiver of a cancellation stops processing the request."),
    "cancellation.receiver.frees-resources": both.should(
      "The receiver of a cancellation frees the resources of the request."
    ),
    "cancellation.receiver.no-response": both.should(
      "The receiver of a cancellation sends no response to the request."
    ),
    "cancellation.sender.ignores-late-response": both.should(
      "The sender of a cancellation ignores a response that arrives afterwards."
    )
  }),
  at("basic/utilities/cancellation#behavior-requirements", stateful, {
    "cancellation.sender.own-request": both.must(
      "A cancellation names a request that its sender issued in the same direction."
    ),
    "cancellation.initialize-not-cancelled": client.mustNot("A client never cancels its `initialize` request.")
  }),
  at("basic/utilities/cancellation#cancellation-flow", only("2025-11-25"), {
    "cancellation.notification.request-id": both.must(
      "A cancellation of a request that is not a task has its `requestId`."
    )
  }),
  at("basic/utilities/cancellation#timing-considerations", every, {
    "cancellation.race.graceful": both.must(
      "Both sides survive a cancellation that crosses the completion or the response of its request."
    )
  }),
  at("basic/utilities/cancellation#implementation-notes", every, {
    "cancellation.reason-logged": both.should("The reason of a cancellation is logged."),
    "cancellation.ui-indicates": host.should("The user interface shows that a cancellation was requested.")
  }),
  at("basic/utilities/cancellation#error-handling", every, {
    "cancellation.invalid.unknown-id-ignored": both.should("A cancellation that names an unknown request is ignored."),
    "cancellation.invalid.completed-ignored": both.should("A cancellation that names a completed request is ignored."),
    "cancellation.invalid.malformed-ignored": both.should("A malformed cancellation is ignored.")
  }),
  at("basic/patterns/cancellation", since("2026-07-28"), {
    "cancellation.client.sent": client.should("A client cancels a request that it does not want any more."),
    "cancellation.server.subscription": server.must(
      "A server that ends a subscription sends a cancellation that names its request."
    ),
    "cancellation.server.nothing-else": server.mustNot("A server cancels nothing but subscriptions.")
  }),
  at("basic/patterns/cancellation#transport-specific-cancellation", since("2026-07-28"), {
    "cancellation.stdio.notification": client.must(
      "Over stdio a client cancels by a notification with the request's id."
    )
  }),
  at("basic/patterns/cancellation#behavior-requirements", since("2026-07-28"), {
    "cancellation.client.own-request": client.must("A client cancels only requests that it issued.")
  })
)

export const ping = requirements(
  at("basic/utilities/ping#behavior-requirements", stateful, {
    "ping.receiver.empty-response": both.must("A ping is answered promptly with an empty result.")
  }),
  at("basic/utilities/ping#implementation-considerations", stateful, {
    "ping.sender.periodic": both.should("Pings are issued periodically to notice a dead connection."),
    "ping.sender.configurable": both.should("The frequency of pings is configurable."),
    "ping.sender.timeout-appropriate": both.should("The timeout of a ping can be fitted to the network."),
    "ping.sender.not-excessive": both.should("Pings are spaced so that they do not burden the network.")
  }),
  at("basic/utilities/ping#error-handling", stateful, {
    "ping.timeout.connection-failure": both.should("A ping that times out counts as a failure of the connection."),
    "ping.failure.logged": both.should("A failed ping is logged.", { sameInAll: true })
  })
)

export const progress = requirements(
  at("basic/utilities/progress#progress-flow", every, {
    "progress.token.type": both.must("A progress token is a string or an integer."),
    "progress.token.unique": both.must("A progress token is unique among the active requests of its sender."),
    "progress.value.increases": both.must("Each progress notification reports a greater value than the one before.")
  }),
  at("basic/utilities/progress#progress-flow", since("2025-03-26"), {
    "progress.message.readable": both.should("The message of a progress notification is relevant to a human reader.", {
      note: "The message is written by the author of the handler."
    })
  }),
  at("basic/utilities/progress#behavior-requirements", every, {
    "progress.token.from-active-request": both.must("Progress names only a token that an active request provided."),
    "progress.token.in-progress": both.must("Progress names only a token whose operation is still in progress.")
  }),
  at("basic/utilities/progress#implementation-notes", every, {
    "progress.token.tracked": both.should("Both sides keep track of the active progress tokens.", { sameInAll: true }),
    "progress.rate-limited": both.should("Progress notifications are rate limited so that they never flood the peer.", {
      sameInAll: true
    }),
    "progress.stops-after-completion": both.must("No progress is sent after the operation completed.")
  })
)
