/** Requirements on Streamable HTTP without sessions: metadata in headers, disconnects, the era of the other side. */
import { at, both, client, requirements, server, since } from "../Requirement.ts"

const july = since("2026-07-28")
const page = "basic/transports/streamable-http"
const intermediary = { note: "Concerns intermediaries between client and server." }

export const httpStateless = requirements(
  at(page, july, {
    "http.endpoint.post": server.must("A server has one endpoint path that supports POST.")
  }),
  at(`${page}#sending-messages`, july, {
    "http.post.metadata": client.must("Every POST carries the headers that mirror its metadata."),
    "http.post.no-responses": client.mustNot("A client never posts a response.")
  }),
  at(`${page}#receiving-messages`, july, {
    "http.post-stream.no-requests": server.mustNot("The stream of a POST never carries a request of the server."),
    "http.post-stream.not-buffered": server.should("A stream is opened with the header `X-Accel-Buffering: no`.")
  }),
  at(`${page}#cancellation`, july, {
    "http.disconnect.cancels": server.must("A client that closes the stream of a request has cancelled it."),
    "http.disconnect.stops": server.should("A server stops working on a request whose stream was closed."),
    "http.disconnect.nothing-more": server.mustNot("Nothing is sent any more for a request whose stream was closed.")
  }),
  at(`${page}#protocol-version-header`, july, {
    "http.version.every-post": client.must("Every POST carries `MCP-Protocol-Version`."),
    "http.version.matches-body": client.must("The version header matches the version in `_meta`."),
    "http.version.mismatch": server.must("A version header that differs from the body gets 400 and error -32020."),
    "http.version.unsupported": server.must("A version that the server does not support gets 400 and error -32022."),
    "http.version.missing": server.must(
      "A request without a version header is rejected, unless the server also supports a version without one."
    ),
    "http.method.unknown": server.must("A method that the server does not have gets 404 and error -32601.")
  }),
  at("basic#meta", july, {
    "http.status.missing-field": server.must("A request without a required field of `_meta` gets status 400."),
    "http.status.missing-capability": server.must("Error -32021 has status 400.")
  }),
  at(`${page}#standard-request-headers`, july, {
    "http.headers.standard": client.must(
      "A request has the header `Mcp-Method`, and `Mcp-Name` if it names a tool, a prompt or a resource."
    ),
    "http.headers.name-encoded": client.must("A name that is not a plain header value is sent in Base64.")
  }),
  at(`${page}#custom-headers-from-tool-parameters`, july, {
    "http.params.mirrored": client.must("A client mirrors annotated arguments of a tool into headers.")
  }),
  at(`${page}#value-encoding`, july, {
    "http.params.encoded": client.must("Values are encoded before they are put in headers."),
    "http.params.base64": client.must(
      "An argument that is not a plain header value is sent as the Base64 of its UTF-8."
    ),
    "http.params.markers": client.must("The marks of Base64 are written in exactly their form."),
    "http.params.decoded": server.must("Who reads a header value that is marked as Base64 decodes it."),
    "http.params.marker-escaped": client.must("A plain value that looks like marked Base64 is sent in Base64.")
  }),
  at(`${page}#client-behavior`, july, {
    "http.params.exact-path": client.must("A mirrored value is the one at the exact path of the annotated property."),
    "http.params.refreshed": client.should(
      "After error -32020 a client lists the tools again and retries with the right headers."
    )
  }),
  at(`${page}#server-behavior-for-custom-headers`, july, {
    "http.params.omitted": client.must("An argument that is absent or null has no header."),
    "http.params.not-expected": server.mustNot("No header is expected for an argument that is absent or null."),
    "http.params.missing": server.must("A call without the header for one of its arguments is rejected."),
    "http.params.forwarded": server.must(
      "Headers that are not known are forwarded and otherwise ignored.",
      intermediary
    ),
    "http.params.invalid-characters": server.must("A header with invalid characters is rejected."),
    "http.params.validated": server.must("Decoded header values are compared with the body."),
    "http.params.mismatch": server.must("A header value that differs from the body gets 400 and error -32020.")
  }),
  at(`${page}#case-sensitivity`, july, {
    "http.headers.case-insensitive": both.must("Names of headers are compared without regard to case.")
  }),
  at(`${page}#server-validation`, july, {
    "http.headers.validated": server.must("Headers that differ from the body are rejected."),
    "http.headers.mismatch": server.must("Missing, malformed and differing headers get 400 and error -32020."),
    "http.headers.integers": server.should("Integers are compared as numbers."),
    "http.headers.decoded": server.must("Encoded header values are decoded before they are compared."),
    "http.intermediary.status": both.must("An intermediary rejects requests with an HTTP error status.", intermediary),
    "http.intermediary.version": both.should(
      "An intermediary that decides by headers checks that the version is one that validates them.",
      intermediary
    ),
    "http.intermediary.older-refused": both.should(
      "An intermediary that decides by headers rejects requests whose headers nobody validates.",
      intermediary
    )
  }),
  at(`${page}#backward-compatibility`, july, {
    "http.compatibility.inspects-400": client.should(
      "A client reads the body of a 400 before it falls back to `initialize`."
    )
  }),
  at(`${page}#earlier-streamable-http-revisions`, july, {
    "http.compatibility.get-delete-405": server.should("A server without sessions answers GET and DELETE with 405."),
    "http.compatibility.session-id-ignored": server.should("A server without sessions ignores `Mcp-Session-Id`."),
    "http.compatibility.last-event-id-ignored": server.should("A server without sessions ignores `Last-Event-ID`.")
  }),
  at(`${page}#http-sse-transport-2024-11-05`, july, {
    "http.compatibility.falls-back-to-sse": client.should(
      "A client for older servers falls back to HTTP with SSE on 400, 404 or 405 without a modern error.",
      { plain: true }
    )
  })
)
