/** A host's page on `AppBridge` of the official package. It shows the view in `#view`, and writes the view's actions into the page. */
import { AppBridge, PostMessageTransport } from "@modelcontextprotocol/ext-apps/app-bridge"

const line = (text: string): void => {
  document.body.append(Object.assign(document.createElement("p"), { textContent: text }))
}

const frame = document.createElement("iframe")
frame.id = "view"
frame.setAttribute("sandbox", "allow-scripts")
document.body.append(frame)
const target = frame.contentWindow
if (target === null) throw new Error("The frame has no window")

const bridge = new AppBridge(
  null,
  { name: "bridge", version: "1.0.0" },
  { openLinks: {}, serverTools: {}, serverResources: {}, logging: {}, message: { text: {} }, downloadFile: {} },
  { hostContext: { theme: "dark", displayMode: "inline", availableDisplayModes: ["inline", "fullscreen"] } }
)
bridge.oncalltool = async ({ arguments: args, name }, { mcpReq }) => {
  if (name === "slow") {
    return new Promise((resolve) => {
      mcpReq.signal.addEventListener("abort", () => {
        line("slow was cancelled")
        resolve({ content: [] })
      })
    })
  }
  if (args?.["count"] === -1) return { content: [{ type: "text", text: "No such count" }], isError: true }
  return { content: [{ type: "text", text: "6" }], structuredContent: { eyes: args?.["count"] ?? 4 } }
}
bridge.onreadresource = async ({ uri }) => ({ contents: [{ uri, text: "A note" }] })
bridge.onopenlink = async ({ url }) => {
  line(`link ${url}`)
  return {}
}
// oxlint-disable-next-line unicorn/prefer-add-event-listener -- it handles a request, for which there is no event
bridge.onmessage = async ({ content }) => {
  line(`message ${JSON.stringify(content)}`)
  return { isError: true }
}
bridge.onupdatemodelcontext = async ({ structuredContent }) => {
  line(`context ${JSON.stringify(structuredContent)}`)
  return {}
}
bridge.onrequestdisplaymode = async ({ mode }) => {
  line(`asked for ${mode}`)
  return { mode: "inline" }
}
bridge.ondownloadfile = async ({ contents }) => {
  line(`file ${JSON.stringify(contents)}`)
  return {}
}
bridge.addEventListener("loggingmessage", ({ data }) => line(`log ${String(data)}`))
bridge.addEventListener("sizechange", ({ height }) => line(`height ${height ?? "none"}`))
bridge.addEventListener("requestteardown", () => {
  void bridge.teardownResource({}).then(() => line("torn down"))
})
bridge.addEventListener("initialized", () => {
  const info = bridge.getAppVersion()
  line(`view ${info?.name ?? "none"} ${info?.version ?? ""} ${JSON.stringify(bridge.getAppCapabilities())}`)
  void bridge
    .sendToolInputPartial({ arguments: { count: 1 } })
    .then(() => bridge.sendToolInput({ arguments: { count: 12 } }))
    .then(() => bridge.sendToolResult({ content: [], structuredContent: { eyes: 12 } }))
    .then(() => bridge.setHostContext({ theme: "light" }))
    .then(() => bridge.sendToolCancelled({ reason: "too late" }))
})
await bridge.connect(new PostMessageTransport(target, target))
frame.srcdoc = String(document.body.dataset["view"])
