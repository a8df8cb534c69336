/** Faults of views and their hosts, each with the test that detects it. */
import type { Fault } from "@effect-mcp/spec/Fault"

const src = "packages/apps/src"
const app = "packages/apps/test/server/App.test.ts"
const host = "packages/apps/test/host/AppHost.test.ts"
const hostile = "packages/apps/test/process/sandbox/hostile.test.ts"
const peers = "packages/apps/test/process/view/peers.test.ts"

export const faults: ReadonlyArray<Fault> = [
  {
    name: "a view has a URI of another scheme",
    file: `${src}/server/App.ts`,
    from: '!uri.startsWith("ui://") || ',
    to: "",
    test: app,
    ids: ["apps.resource.scheme"]
  },
  {
    name: "a view has the media type of any page",
    file: `${src}/contract/UiExtension.ts`,
    from: '"text/html;profile=mcp-app"',
    to: '"text/html"',
    test: app,
    ids: ["apps.resource.media-type"]
  },
  {
    name: "a view has no HTML",
    file: `${src}/server/App.ts`,
    from: "text: html, _meta: meta",
    to: 'text: "", _meta: meta',
    test: app,
    ids: ["apps.resource.content"]
  },
  {
    name: "a tool names a view that its server lacks",
    file: `${src}/server/App.ts`,
    from: "ui: { resourceUri: uri, visibility",
    to: "ui: { resourceUri: `${uri}/other`, visibility",
    test: app,
    ids: ["apps.tool.resource-exists"]
  },
  {
    name: "the contents of a view have no policy",
    file: `${src}/server/App.ts`,
    from: "text: html, _meta: meta",
    to: "text: html",
    test: app
  },
  {
    name: "clients without views see tools for views",
    file: `${src}/server/App.ts`,
    from: "onFailure: () => false,\n  onSuccess: Option.exists(shows)",
    to: "onFailure: () => false,\n  onSuccess: () => true",
    test: app
  },
  {
    name: "an origin adds directives to a policy",
    file: `${src}/contract/Origins.ts`,
    from: "text.length <= 300 && pattern.test(text)",
    to: "text.length <= 300",
    test: app
  },
  {
    name: "a bundled module ends its script early",
    file: `${src}/server/Page.ts`,
    from: "${inline(code)}",
    to: "${code}",
    test: app
  },
  {
    name: "a tool with a view returns no content",
    file: "packages/core/src/features/Tools.ts",
    from: "content: text(JSON.stringify(structuredContent)),",
    to: "content: [],",
    test: app,
    ids: ["apps.degradation.content"]
  },
  {
    name: "a host ignores the metadata of the list",
    file: `${src}/host/ViewResource.ts`,
    from: "resourceUi(found) ?? (yield* listedUi(client, uri))",
    to: "resourceUi(found) ?? {}",
    test: host,
    ids: ["apps.metadata.locations"]
  },
  {
    name: "a host reads another resource than the tool's view",
    file: `${src}/host/ViewResource.ts`,
    from: "yield* client.readResource(uri)",
    to: 'yield* client.readResource("ui://secret")',
    test: host,
    ids: ["apps.tool.read"]
  },
  {
    name: "a view reaches no origin that it declares",
    file: `${src}/sandbox/Policy.ts`,
    from: "`connect-src${only(connectDomains)}`",
    to: "`connect-src 'none'`",
    test: hostile,
    ids: ["apps.csp.declared"]
  },
  {
    name: "a view reaches every origin",
    file: `${src}/sandbox/Policy.ts`,
    from: "`connect-src${only(connectDomains)}`",
    to: "`connect-src *`",
    test: hostile,
    ids: ["apps.csp.undeclared", "apps.csp.blocked"]
  },
  {
    name: "a view navigates to every origin",
    file: `${src}/sandbox/Policy.ts`,
    from: "`frame-src${only(frameDomains)}`",
    to: "`frame-src *`",
    test: hostile
  },
  {
    name: "the model sees tools for views",
    file: `${src}/host/AppHost.ts`,
    from: 'tools.filter((tool) => isFor("model", tool))',
    to: "tools",
    test: host,
    ids: ["apps.visibility.model"]
  },
  {
    name: "a view calls tools for the model",
    file: `${src}/host/Requests.ts`,
    from: 'if (!isFor("app", tool)) return',
    to: "if (false) return",
    test: host,
    ids: ["apps.visibility.app"]
  },
  {
    name: "a host does not declare the media type of views",
    file: `${src}/host/AppHost.ts`,
    from: "settings: { mimeTypes: [mimeType] }",
    to: "settings: { mimeTypes: [] }",
    test: host,
    ids: ["apps.negotiation.mime-types"]
  },
  {
    name: "a page shows a view without a sandbox",
    file: `${src}/frame/frame.ts`,
    from: "element.src = href",
    to: "element.srcdoc = html",
    test: peers,
    ids: ["apps.sandbox.proxy"]
  },
  {
    name: "the sandbox has the origin of the host's page",
    file: `${src}/page/LocalPage.ts`,
    from: "sandbox: `${sandbox}${sandboxPath}`, prefersBorder",
    to: "sandbox: base, prefersBorder",
    test: peers,
    ids: ["apps.sandbox.origin"]
  },
  {
    name: "the sandbox runs no script",
    file: `${src}/frame/frame.ts`,
    from: '"allow-scripts allow-same-origin allow-forms"',
    to: '"allow-same-origin allow-forms"',
    test: peers,
    ids: ["apps.sandbox.permissions"]
  },
  {
    name: "the sandbox has no policy",
    file: `${src}/sandbox/Sandbox.ts`,
    from: "`${policyOf(csp)}; frame-ancestors",
    to: "`frame-ancestors",
    test: hostile,
    ids: ["apps.sandbox.policy"]
  },
  {
    name: "a view speaks for the sandbox",
    file: `${src}/sandbox/Sandbox.ts`,
    from: "source === view.contentWindow && !own(data)",
    to: "source === view.contentWindow",
    test: hostile,
    ids: ["apps.sandbox.forwarding"]
  },
  {
    name: "a view has the origin of the sandbox",
    file: `${src}/sandbox/Sandbox.ts`,
    from: 'view.setAttribute("sandbox", "allow-scripts allow-forms")',
    to: 'view.setAttribute("sandbox", "allow-scripts allow-forms allow-same-origin")',
    test: hostile,
    ids: ["apps.view.sandboxed"]
  },
  {
    name: "a host's page takes messages of any frame",
    file: `${src}/frame/frame.ts`,
    from: "if (source !== element.contentWindow || from !== origin) return",
    to: "",
    test: hostile
  },
  {
    name: "a host speaks before the view is initialized",
    file: `${src}/host/ViewSession.ts`,
    from: 'if (this.state === "ready") return this.send({ method, params })',
    to: 'if (this.state !== "silent") return this.send({ method, params })',
    test: host,
    ids: ["apps.initialized.first"]
  },
  {
    name: "a host sends no arguments",
    file: `${src}/host/ViewSession.ts`,
    from: 'return this.notify("ui/notifications/tool-input", { arguments: args })',
    to: "return Effect.void",
    test: host,
    ids: ["apps.input.sent"]
  },
  {
    name: "partial arguments follow the complete ones",
    file: `${src}/host/ViewSession.ts`,
    from: 'this.input = "complete"',
    to: 'this.input = "partial"',
    test: host,
    ids: ["apps.input.partial"]
  },
  {
    name: "a host sends no result",
    file: `${src}/host/ViewSession.ts`,
    from: 'this.notify("ui/notifications/tool-result", { ...result })',
    to: "Effect.void",
    test: host,
    ids: ["apps.result.sent"]
  },
  {
    name: "a view does not hear of a cancelled call",
    file: `${src}/host/ViewSession.ts`,
    from: 'this.notify("ui/notifications/tool-cancelled", reason === undefined ? {} : { reason })',
    to: "Effect.void",
    test: host,
    ids: ["apps.cancelled.sent"]
  },
  {
    name: "a host removes a view without a word",
    file: `${src}/host/ViewSession.ts`,
    from: "yield* Effect.addFinalizer(() => session.teardown)",
    to: "yield* Effect.void",
    test: host,
    ids: ["apps.teardown.sent"]
  },
  {
    name: "a view that asks to be removed is not asked to prepare",
    file: `${src}/host/ViewSession.ts`,
    from: 'return Effect.asVoid(Deferred.succeed(this.end, "The view asked to be removed"))',
    to: 'return this.ending("The view asked to be removed")',
    test: host,
    ids: ["apps.teardown.requested"]
  },
  {
    name: "a view that is not introduced calls tools",
    file: `${src}/host/ViewSession.ts`,
    from: 'if (this.state === "silent" && method',
    to: "if (false && method",
    test: host
  },
  {
    name: "the frame keeps its size",
    file: `${src}/page/program.ts`,
    from: "frame.element.style.height = `${event.height}px`",
    to: 'frame.element.title = ""',
    test: peers,
    ids: ["apps.size.followed"]
  },
  {
    name: "a view declares no capabilities",
    file: `${src}/view/view.ts`,
    from: "appCapabilities: displayModes",
    to: "capabilities: displayModes",
    test: peers,
    ids: ["apps.view.capabilities"]
  },
  {
    name: "a view does not declare its display modes",
    file: `${src}/view/view.ts`,
    from: "{ availableDisplayModes: displayModes }",
    to: "{}",
    test: peers,
    ids: ["apps.mode.declared-by-view"]
  },
  {
    name: "a view asks for modes that the host lacks",
    file: `${src}/view/view.ts`,
    from: "if (!(context.availableDisplayModes ?? []).includes(mode))",
    to: "if (false)",
    test: peers,
    ids: ["apps.mode.available"]
  },
  {
    name: "a view believes to be in the mode that it asked for",
    file: `${src}/view/view.ts`,
    from: 'return answer["mode"] === "fullscreen" || answer["mode"] === "pip" ? answer["mode"] : "inline"',
    to: "return mode",
    test: peers,
    ids: ["apps.mode.different"]
  },
  {
    name: "a host puts a view into a mode that the view lacks",
    file: `${src}/host/ViewSession.ts`,
    from: ".filter((mode) => this.declaredModes?.includes(mode) ?? true)",
    to: "",
    test: host,
    ids: ["apps.mode.undeclared"]
  },
  {
    name: "a host does not name the resulting mode",
    file: `${src}/host/Requests.ts`,
    from: "return { mode: changed }",
    to: "return {}",
    test: host,
    ids: ["apps.mode.result"]
  },
  {
    name: "a link is opened without consent",
    file: `${src}/host/Requests.ts`,
    from: "Consent.guard(consent, { ...wish, server: client.serverInfo, view }, called(run))",
    to: "called(run)",
    test: host
  },
  {
    name: "a policy does not learn that a view calls",
    file: "packages/client/src/features/Calls.ts",
    from: "...(options?.view === undefined ? undefined : { view: options.view })",
    to: "",
    test: host
  },
  {
    name: "a view reaches the user's own services",
    file: "packages/apps/src/host/ViewResource.ts",
    test: "packages/apps/test/host/local-origins.test.ts",
    from: "return { ...ui, csp: withoutLocal(csp) }",
    to: "return ui"
  }
]
