/** The same view on `App` of the official package. */
import { App, applyDocumentTheme } from "@modelcontextprotocol/ext-apps/app-with-deps"

const line = (text: string): void => {
  document.body.append(Object.assign(document.createElement("p"), { textContent: text }))
}
const button = (name: string, act: () => unknown): void => {
  const element = Object.assign(document.createElement("button"), { textContent: name })
  element.addEventListener("click", () => void Promise.resolve(act()).catch((error: unknown) => line(String(error))))
  document.body.append(element)
}

const app = new App({ name: "dice view", version: "2.0.0" }, { availableDisplayModes: ["inline", "fullscreen"] })
app.addEventListener("toolinput", ({ arguments: args }) =>
  line(`input ${args?.["count"] === undefined ? "none" : JSON.stringify(args["count"])}`)
)
app.addEventListener("toolresult", ({ structuredContent }) => line(`rolled ${JSON.stringify(structuredContent)}`))
app.addEventListener("hostcontextchanged", ({ theme }) => {
  if (theme !== undefined) applyDocumentTheme(theme)
  line(`theme ${theme ?? "none"}`)
})
app.onteardown = async () => {
  await app.sendLog({ level: "info", data: "goodbye" })
  return {}
}
await app.connect()
line(`host ${app.getHostVersion()?.name ?? "none"}`)
button("call", async () => {
  const { structuredContent } = await app.callServerTool({ name: "dice", arguments: { count: 6 } })
  line(`called ${JSON.stringify(structuredContent)}`)
})
button("read", async () => {
  const { contents } = await app.readServerResource({ uri: "notes://1" })
  line(`read ${contents.length}`)
})
button("link", async () => line(`opened ${JSON.stringify(await app.openLink({ url: "https://example.com/" }))}`))
button("message", async () =>
  line(`sent ${JSON.stringify(await app.sendMessage({ role: "user", content: [{ type: "text", text: "Hello" }] }))}`)
)
button("context", async () =>
  line(`updated ${JSON.stringify(await app.updateModelContext({ structuredContent: { page: 1 } }))}`)
)
button("mode", async () => line(`mode ${(await app.requestDisplayMode({ mode: "fullscreen" })).mode}`))
