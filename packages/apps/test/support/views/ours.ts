/** A view on our module, whose buttons do everything that a view can do. It writes what happens into the page. */
import { connect, ViewError } from "@effect-mcp/apps/view"
import type { Dice, Save } from "../dice.ts"

const line = (text: string): void => {
  document.body.append(Object.assign(document.createElement("p"), { textContent: text }))
}
const button = (name: string, act: () => unknown): void => {
  const element = Object.assign(document.createElement("button"), { textContent: name })
  element.addEventListener("click", () => void Promise.resolve(act()).catch(failed))
  document.body.append(element)
}
const failed = (error: unknown): void =>
  line(error instanceof ViewError ? `${error.message} (${error.code})` : String(error))

const view = await connect<typeof Dice>({
  name: "dice view",
  version: "2.0.0",
  displayModes: ["inline", "fullscreen"]
}).catch((error: unknown) => {
  failed(error)
  throw error
})
line(`host ${view.host.name}`)
line(`theme ${view.context.theme ?? "none"}`)
view.on("input", ({ count }) => line(`input ${count ?? "none"}`))
view.on("partial", ({ count }) => line(`partial ${count ?? "none"}`))
view.on("result", ({ content, data, isError }) => line(isError ? `failed ${content.length}` : `rolled ${data.eyes}`))
view.on("cancelled", (reason) => line(`cancelled ${reason ?? "none"}`))
view.on("context", ({ theme }) => line(`theme ${theme ?? "none"}`))
view.on("teardown", () => view.log("info", "goodbye"))
button("call", async () => line(`called ${(await view.call("dice", { count: 6 })).data.eyes}`))
button("save", async () => line(`saved ${(await view.call<typeof Save>("save", { note: "n" })).content.length}`))
button("fail", () => view.call("dice", { count: -1 }))
button("read", async () => line(`read ${await view.read("notes://1")}`))
button("link", async () => line(`opened ${String(await view.openLink("https://example.com/"))}`))
button("message", async () => line(`sent ${String(await view.sendMessage("Hello"))}`))
button("context", async () => line(`updated ${String(await view.updateContext({ structuredContent: { page: 1 } }))}`))
button("mode", async () => line(`mode ${await view.requestMode("fullscreen")}`))
button("pip", async () => line(`mode ${await view.requestMode("pip")}`))
button("file", async () => line(`downloaded ${String(await view.download({ name: "a b.txt", text: "abc" }))}`))
button("grow", () => {
  document.body.style.minHeight = "1234px"
})
button("stop", async () => {
  const controller = new AbortController()
  const call = view.call("slow", {}, { signal: controller.signal })
  controller.abort()
  await call
})
button("late", () => view.call("slow", {}, { timeout: 1 }))
button("close", () => view.close())
