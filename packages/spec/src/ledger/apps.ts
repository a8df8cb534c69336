/** Requirements of the extension `io.modelcontextprotocol/ui` (MCP Apps), for servers, views and hosts. A host is a client here. */
import { at, client, only, requirements, server } from "../Requirement.ts"

const revisions = only("2026-07-28")
const page = "extensions/apps"
/** Views and hosts talk to each other in the same way in every revision. */
const same = { sameInAll: true } as const

export const apps = requirements(
  at(`${page}#ui-resource-format`, revisions, {
    "apps.resource.scheme": server.must("The URI of a view starts with `ui://`."),
    "apps.resource.media-type": server.must("The media type of a view is `text/html;profile=mcp-app`."),
    "apps.resource.content": server.must("The HTML of a view is in `text` or `blob`."),
    "apps.resource.html5": server.must("A view is a valid HTML5 document.", {
      note: "The author of a server writes the page; a page that is bundled here is one."
    }),
    "apps.metadata.locations": client.must(
      "A host reads the metadata of the contents, or of the list if the contents have no metadata.",
      same
    )
  }),
  at(`${page}#content-security-policy-enforcement`, revisions, {
    "apps.csp.declared": client.must("A host enforces a policy with the declared origins.", same),
    "apps.csp.undeclared": client.mustNot("No origin that a view does not declare can be reached.", same),
    "apps.csp.blocked": client.must("Connections to origins that are not declared are blocked.", same)
  }),
  at(`${page}#resource-discovery`, revisions, {
    "apps.tool.resource-exists": server.must("The view that a tool names exists on its server."),
    "apps.tool.read": client.must("A host fetches the view by `resources/read`.", same),
    "apps.visibility.model": client.mustNot(
      "A tool that is not visible to the model is not in the model's list.",
      same
    ),
    "apps.visibility.app": client.must("A view's call of a tool that is not visible to views is rejected.", same)
  }),
  at(`${page}#sandbox-proxy`, revisions, {
    "apps.sandbox.proxy": client.must("A host that is a web page shows a view only through a sandbox.", same),
    "apps.sandbox.origin": client.must("Host and sandbox have different origins.", same),
    "apps.sandbox.permissions": client.must("The sandbox may run scripts, with its own origin.", same),
    "apps.sandbox.policy": client.must("The sandbox loads the view with the policy of its metadata.", same),
    "apps.sandbox.forwarding": client.must(
      "The sandbox forwards messages in both directions, except for those about itself.",
      same
    ),
    "apps.view.sandboxed": client.must("A view runs in a frame with restricted permissions.", same),
    "apps.initialized.first": client.mustNot("A host sends nothing to a view before it is initialized.", same)
  }),
  at(`${page}#lifecycle`, revisions, {
    "apps.view.capabilities": client.must("A view declares its capabilities in `ui/initialize`.", same),
    "apps.input.sent": client.must("A host sends the complete arguments once the view is initialized.", same),
    "apps.input.partial": client.must("No partial arguments follow the complete ones.", same),
    "apps.result.sent": client.must("A host sends the result of the tool call to the view.", same),
    "apps.cancelled.sent": client.must("A host tells the view that the tool call was cancelled.", same),
    "apps.teardown.sent": client.must("A host sends `ui/resource-teardown` before it removes a view.", same),
    "apps.teardown.requested": client.must(
      "A view that asks to be removed also receives `ui/resource-teardown` first.",
      same
    ),
    "apps.size.followed": client.must("A host adapts a flexible frame to the size that the view reports.", same)
  }),
  at(`${page}#display-modes`, revisions, {
    "apps.mode.declared-by-view": client.must("A view declares the display modes that it supports.", same),
    "apps.mode.available": client.must("A view asks only for modes that the host has.", same),
    "apps.mode.different": client.must("A view handles a mode that differs from the requested one.", same),
    "apps.mode.undeclared": client.mustNot("A host puts a view into no mode that the view does not declare.", same),
    "apps.mode.result": client.must("The answer to `ui/request-display-mode` is the resulting mode.", same)
  }),
  at(`${page}#clientserver-capability-negotiation`, revisions, {
    "apps.degradation.content": server.must("A tool with a view also returns content for hosts without views."),
    "apps.degradation.text": server.should("Every tool with a view works as text.", {
      note: "The author of a tool may return empty content; with an output schema, the text mirrors the output."
    }),
    "apps.negotiation.mime-types": client.must("A host declares the media types that it shows.", same)
  })
)
