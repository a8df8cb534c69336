/** Requirements on resources: declaring, listing, reading, subscribing, URIs, errors. */
import { at, both, client, every, requirements, server, since, stateful } from "../Requirement.ts"

export const resources = requirements(
  at("server/resources#capabilities", every, {
    "resources.capability.declared": server.must("A server that has resources declares the `resources` capability.")
  }),
  at("server/resources#list-changed-notification", every, {
    "resources.list-changed.sent": server.should(
      "A server that declared `resources.listChanged` sends a notification when its list of resources changes."
    )
  }),
  at("server/resources#subscriptions", every, {
    "resources.updated.only-subscribed": server.should(
      "A resource update is only sent to clients that subscribed to the resource.",
      { plain: true }
    )
  }),
  at("server/resources#resource-contents", every, {
    "resources.contents.text-is-text": server.must(
      "Contents are given as text only if they are text, and as a base64 blob otherwise.",
      { plain: true }
    )
  }),
  at("server/resources#https", every, {
    "resources.uri.https-fetchable": server.should(
      "A server uses `https` URIs only for resources that the client can fetch directly from the web.",
      { note: "The author of the resource chooses its URI." }
    ),
    "resources.uri.other-scheme": server.should(
      "A server uses another scheme for resources that are read through it.",
      {
        note: "The author of the resource chooses its URI."
      }
    )
  }),
  at("server/resources#custom-uri-schemes", since("2025-06-18"), {
    "resources.uri.rfc3986": server.must("A URI with a custom scheme conforms to RFC 3986.", { sameInAll: true })
  }),
  at("server/resources#error-handling", every, {
    "resources.error.internal": server.should("A failure inside the server is answered with error -32603.")
  }),
  at("server/resources#error-handling", stateful, {
    "resources.read.not-found": server.should("Reading an unknown resource is answered with error -32002.")
  }),
  at("server/resources#security-considerations", every, {
    "resources.security.uri-validated": server.must("A server validates every resource URI that it is given."),
    "resources.security.access-control": server.should("A server can control who may read a sensitive resource."),
    "resources.security.binary-encoded": both.must(
      "Binary contents are base64 on the wire and the same bytes on both ends."
    ),
    "resources.security.permission-checked": server.should("Permissions are checked before a resource is touched.")
  }),
  at("server/resources#capabilities", since("2026-07-28"), {
    "resources.list.answered": server.must(
      "A server that declares `resources` answers `resources/list` with the resources that the caller may see."
    ),
    "resources.list.not-per-connection": server.mustNot(
      "The list of resources varies neither with the connection nor with other requests on it."
    )
  }),
  at("server/resources#error-handling", since("2026-07-28"), {
    "resources.read.unknown": server.must("Reading a resource that does not exist is answered with error -32602."),
    "resources.read.former-code": client.should("A client also accepts -32002 for a resource that does not exist."),
    "resources.read.not-empty": server.mustNot("A resource that does not exist is never read as empty contents.")
  }),
  at("server/resources#security-considerations", since("2026-07-28"), {
    "resources.security.path-sanitized": server.must("Paths of `file` resources are guarded against traversal.", {
      note: "Concerns what handlers do in the file system."
    })
  })
)
