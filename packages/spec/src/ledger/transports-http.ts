/** Requirements on Streamable HTTP and on its predecessor, HTTP with SSE (area `sse`). */
import { at, both, client, every, only, requirements, server, since } from "../Requirement.ts"

export const http = requirements(
  at("basic/transports#streamable-http", since("2025-03-26", "2025-11-25"), {
    "http.endpoint.single": server.must("A server has one endpoint path that supports both POST and GET.")
  }),
  at("basic/transports#security-warning", every, {
    "http.origin.validated": server.must("A server validates the `Origin` header of every incoming connection.", {
      sameInAll: true
    }),
    "http.security.localhost": server.should("A server that runs locally binds to the loopback interface only.", {
      sameInAll: true
    }),
    "http.security.authenticated": server.should("A server authenticates every connection.", {
      note: "The operator of a server decides whether its callers log in."
    })
  }),
  at("basic/transports#security-warning", since("2025-11-25"), {
    "http.origin.forbidden": server.must(
      "A request whose `Origin` is present and invalid is answered with status 403.",
      { sameInAll: true }
    )
  }),
  at("basic/transports#sending-messages-to-the-server", since("2025-03-26"), {
    "http.post.own-request": client.must("A client sends every message as a new POST to the endpoint."),
    "http.post.accept": client.must("A POST has an `Accept` header with `application/json` and `text/event-stream`."),
    "http.post.accepted": server.must(
      "An accepted message that needs no response is answered with status 202 and no body."
    ),
    "http.post.not-accepted": server.must("A rejected message that needs no response gets an HTTP error status."),
    "http.post.json-or-sse": server.must("A request is answered with `application/json` or with `text/event-stream`."),
    "http.post.client-supports-both": client.must("A client understands JSON responses as well as event streams."),
    "http.post-stream.related": server.must(
      "Messages before the response on a POST's stream relate to the POST's request.",
      { softer: since("2025-03-26", "2025-11-25") }
    ),
    "http.post-stream.closes-after-response": server.should("A POST's stream ends once its responses are sent.")
  }),
  at("basic/transports#sending-messages-to-the-server", since("2025-03-26", "2025-11-25"), {
    "http.post-stream.ends-with-response": server.should("The stream of a POST eventually carries the response."),
    "http.disconnect.not-cancel": server.shouldNot("A disconnect is not taken as a cancellation of the request."),
    "http.disconnect.explicit-cancel": client.should(
      "A client cancels with `notifications/cancelled`, not by disconnecting."
    )
  }),
  at("basic/transports#sending-messages-to-the-server", only("2025-03-26"), {
    "http.post.body-batch": client.must(
      "The body of a POST is one message, an array of requests and notifications, or an array of responses."
    )
  }),
  at("basic/transports#sending-messages-to-the-server", since("2025-06-18"), {
    "http.post.body-single": client.must("The body of a POST is a single message, so a batch is rejected.")
  }),
  at("basic/transports#sending-messages-to-the-server", since("2025-03-26", "2025-06-18"), {
    "http.post-stream.not-closed-early": server.shouldNot(
      "The stream of a POST is not closed before its responses are sent unless the session expires."
    )
  }),
  at("basic/transports#sending-messages-to-the-server", only("2025-11-25"), {
    "http.post-stream.priming-event": server.should(
      "The stream of a POST starts with an event that has an id and empty data, so that the client can resume."
    ),
    "http.post-stream.client-polls": client.should(
      "A client reconnects to a stream whose connection was closed before the stream ended."
    ),
    "http.post-stream.retry-sent": server.should(
      "A server that closes a connection before its stream ended sends a `retry` field first."
    ),
    "http.post-stream.retry-respected": client.must("A client waits for the time in `retry` before it reconnects.")
  }),
  at("basic/transports#listening-for-messages-from-the-server", since("2025-03-26", "2025-11-25"), {
    "http.get.accept": client.must("A GET accepts `text/event-stream`."),
    "http.get.sse-or-405": server.must("A GET is answered with `text/event-stream` or with status 405."),
    "http.get.unrelated": server.should(
      "Messages on the stream of a GET are unrelated to running requests of the client."
    ),
    "http.get.no-response": server.mustNot(
      "A GET's stream carries no response unless it resumes the stream of an earlier request."
    )
  }),
  at("basic/transports#listening-for-messages-from-the-server", only("2025-11-25"), {
    "http.get.polling": server.should(
      "A server that closes the connection of a GET before its stream ended sends a `retry` field first."
    )
  }),
  at("basic/transports#multiple-connections", since("2025-03-26", "2025-11-25"), {
    "http.streams.one-per-message": server.must("Each message of a server goes out on exactly one stream."),
    "http.streams.no-broadcast": server.mustNot("A message is never broadcast over several streams.")
  }),
  at("basic/transports#resumability-and-redelivery", since("2025-03-26", "2025-11-25"), {
    "http.resume.event-id-unique": server.must(
      "An event id is unique across all streams of its session, or of its client if there are no sessions."
    ),
    "http.resume.last-event-id": client.should("A client resumes with a GET that carries `Last-Event-ID`."),
    "http.resume.own-stream-only": server.mustNot("A resumed stream never replays messages of another stream.")
  }),
  at("basic/transports#resumability-and-redelivery", only("2025-11-25"), {
    "http.resume.event-id-names-stream": server.should("An event id is enough to find the stream that it belongs to.")
  }),
  at("basic/transports#session-management", since("2025-03-26", "2025-11-25"), {
    "http.session.id-secure": server.should("A session id is globally unique and cannot be guessed."),
    "http.session.id-ascii": server.must("A session id has visible ASCII characters only (0x21 to 0x7E)."),
    "http.session.id-sent": client.must("A client that was given a session id sends it with every later request."),
    "http.session.id-required": server.should(
      "A server that requires a session id answers 400 to a request without one, except for `initialize`."
    ),
    "http.session.terminated-404": server.must("A request with the id of a terminated session is answered with 404."),
    "http.session.client-reinitializes": client.must(
      "A client that gets 404 for its session id initializes again without a session id."
    ),
    "http.session.delete": client.should("A client that no longer needs its session sends DELETE with the session id.")
  }),
  at("basic/transports#session-management", only("2025-11-25"), {
    "http.session.client-keeps-id-safe": client.must(
      "A client keeps the session id safe, out of logs and other origins."
    )
  }),
  at("basic/transports#protocol-version-header", since("2025-06-18"), {
    "http.version.header-invalid": server.must("An invalid or unsupported version header is answered with 400.")
  }),
  at("basic/transports#protocol-version-header", since("2025-06-18", "2025-11-25"), {
    "http.version.header-sent": client.must("Every request after initialization carries `MCP-Protocol-Version`."),
    "http.version.header-negotiated": client.should("The version header carries the negotiated version."),
    "http.version.header-absent": server.should(
      "If the version header is absent and the version is not known otherwise, 2025-03-26 is assumed."
    )
  }),
  at("basic/transports#backwards-compatibility", since("2025-03-26"), {
    "http.compatibility.server-hosts-both": server.should(
      "A server for older clients serves HTTP with SSE in addition to the new endpoint.",
      { plain: true }
    )
  }),
  at("basic/transports#backwards-compatibility", since("2025-03-26", "2025-11-25"), {
    "http.compatibility.client-falls-back": client.should(
      "A client for older servers whose POST of `initialize` fails with 400, 404 or 405 falls back to HTTP with SSE.",
      { plain: true, sameInAll: true }
    )
  })
)

export const sse = requirements(
  at("basic/transports#http-with-sse", only("2024-11-05"), {
    "sse.endpoints.two": server.must("A server has an SSE endpoint and a POST endpoint."),
    "sse.endpoint-event.sent": server.must(
      "A server sends an `endpoint` event with the URI for messages as soon as a client connects."
    ),
    "sse.post.to-endpoint": client.must("A client sends every message as a POST to the URI of the `endpoint` event."),
    "sse.message-event": both.must("A server message is an SSE `message` event whose data is the JSON.", {
      plain: true
    })
  })
)
