/** Requirements on completion, logging and pagination. */
import { at, both, client, every, requirements, server, since, stateful } from "../Requirement.ts"

export const completion = requirements(
  at("server/utilities/completion#capabilities", since("2025-03-26"), {
    "completion.capability.declared": server.must("A server that completes arguments declares `completions`.")
  }),
  at("server/utilities/completion#completion-results", every, {
    "completion.result.at-most-100": server.mustNot("A result never has more than 100 values.", { plain: true })
  }),
  at("server/utilities/completion#requesting-completions", since("2025-06-18"), {
    "completion.client.context": client.should(
      "A client sends the arguments that are already resolved with a request for the next one.",
      { plain: true }
    )
  }),
  at("server/utilities/completion#error-handling", since("2025-03-26"), {
    "completion.error.not-supported": server.should("A server without completion answers error -32601."),
    "completion.error.unknown-prompt": server.should("A reference to an unknown prompt is answered with error -32602."),
    "completion.error.missing-argument": server.should("A missing required argument is answered with error -32602."),
    "completion.error.internal": server.should("A failure inside the server is answered with error -32603.")
  }),
  at("server/utilities/completion#implementation-considerations", every, {
    "completion.server.sorted": server.should("Values are sorted by relevance."),
    "completion.server.fuzzy": server.should("Values are matched fuzzily if that helps."),
    "completion.server.rate-limited": server.should("A server limits the rate of completion requests."),
    "completion.server.inputs-validated": server.should("A server validates all inputs of a completion request."),
    "completion.client.debounced": client.should("A client debounces rapid completion requests."),
    "completion.client.cached": client.should("A client caches completion results if that helps."),
    "completion.client.partial-handled": client.should("A client copes with missing and partial results.")
  }),
  at("server/utilities/completion#security", every, {
    "completion.security.inputs-validated": both.must("All inputs of a completion request are validated."),
    "completion.security.rate-limited": both.must("The rate of completion requests is limited."),
    "completion.security.access-control": both.must("Access to sensitive suggestions is controlled.", {
      note: "Only the author of the completion knows what is sensitive."
    }),
    "completion.security.no-disclosure": both.must(
      "Completion does not disclose anything that the requestor may not see.",
      {
        note: "Only the author of the completion knows what is sensitive."
      }
    )
  })
)

export const logging = requirements(
  at("server/utilities/logging#capabilities", every, {
    "logging.capability.declared": server.must("A server that sends log messages declares the `logging` capability.")
  }),
  at("server/utilities/logging#setting-log-level", stateful, {
    "logging.level.threshold": server.should("After a level was set, messages at it and above are sent, others not.", {
      plain: true
    })
  }),
  at("server/utilities/logging#error-handling", every, {
    "logging.level.invalid": server.should("An invalid log level is answered with error -32602.")
  }),
  at("server/utilities/logging#error-handling", stateful, {
    "logging.error.configuration": server.should("A failure to set the level is answered with error -32603.")
  }),
  at("server/utilities/logging#implementation-considerations", every, {
    "logging.server.rate-limited": server.should("A server limits the rate of its log messages."),
    "logging.server.context": server.should("The data of a log message carries the relevant context.", {
      sameInAll: true
    }),
    "logging.server.logger-names": server.should("The names of loggers are used consistently.", {
      note: "The author of a handler names its loggers."
    }),
    "logging.server.sensitive-removed": server.should("Sensitive information is removed from log messages.")
  }),
  at("server/utilities/logging#security", every, {
    "logging.content.no-secrets": server.mustNot("A log message never contains credentials or secrets.", {
      note: "The library sends what a handler logs explicitly; it has a redaction hook but cannot know secrets."
    }),
    "logging.content.no-personal-data": server.mustNot("A log message never contains data that identifies a person.", {
      note: "The library sends what a handler logs explicitly; it has a redaction hook but cannot know persons."
    }),
    "logging.content.no-internals": server.mustNot(
      "A log message never contains internals of the system, such as stack traces, that help an attacker."
    ),
    "logging.security.rate-limited": both.should("The rate of log messages is limited."),
    "logging.security.fields-validated": both.should("All fields of a log message are validated."),
    "logging.security.access-control": both.should("Access to logs is controlled."),
    "logging.security.monitored": both.should("Logs are monitored for sensitive content.", {
      note: "Monitoring belongs to the operator."
    })
  }),
  at("server/utilities/logging#per-request-log-level", since("2026-07-28"), {
    "logging.request.silent": server.mustNot("A request that sets no log level gets no log messages."),
    "logging.request.threshold": server.should("A request that sets a log level gets messages at it and above only.", {
      plain: true
    }),
    "logging.request.own-stream": server.mustNot(
      "Log messages go nowhere but to the stream of the request that set the level."
    )
  })
)

export const pagination = requirements(
  at("server/utilities/pagination#pagination-model", every, {
    "pagination.client.no-fixed-size": client.mustNot("A client does not assume a fixed page size.")
  }),
  at("server/utilities/pagination#request-format", every, {
    "pagination.cursor.continues": server.should(
      "A page that is asked for by cursor starts after the page before it.",
      {
        plain: true
      }
    )
  }),
  at("server/utilities/pagination#implementation-guidelines", every, {
    "pagination.server.stable-cursors": server.should(
      "A cursor stays usable while its client pages through the list.",
      { sameInAll: true }
    ),
    "pagination.server.invalid-cursor-graceful": server.should("An invalid cursor is handled without any damage."),
    "pagination.client.end": client.should("A missing `nextCursor` is the end of the list."),
    "pagination.client.both-flows": client.should("A client handles lists with and without pages."),
    "pagination.client.opaque-format": client.must("A client assumes nothing about the format of a cursor."),
    "pagination.client.opaque-unmodified": client.must("A client neither parses nor modifies a cursor.")
  }),
  at("server/utilities/pagination#implementation-guidelines", stateful, {
    "pagination.client.opaque-not-persisted": client.must("A client does not keep a cursor beyond its session.")
  }),
  at("server/utilities/pagination#error-handling", every, {
    "pagination.cursor.invalid": server.should("An invalid cursor is answered with error -32602.")
  }),
  at("server/utilities/pagination#implementation-guidelines", since("2026-07-28"), {
    "pagination.cursor.empty": client.mustNot("An empty cursor is a cursor, not the end of the list.")
  })
)
