/** The language that the reader chose for examples: groups of code on all pages show it, also after a reload. */
import { inBrowser, onContentUpdated } from "vitepress"

const languages: ReadonlyArray<string> = ["Effect", "Promise"]
const key = "effect-mcp.language"

/** A browser may refuse storage: then the choice lasts until the page is reloaded. */
const stored = (): string | undefined => {
  try {
    return localStorage.getItem(key) ?? undefined
  } catch {
    return undefined
  }
}

const store = (language: string): void => {
  try {
    localStorage.setItem(key, language)
  } catch {
    // Refused, see above.
  }
}

const labelsOf = (group: Element): ReadonlyArray<string> =>
  [...group.querySelectorAll(".tabs label")].map((label) => label.textContent?.trim() ?? "")

/** Shows the language in a group that has it, and leaves others as they are. */
const show = (group: Element, language: string): void => {
  const index = labelsOf(group).indexOf(language)
  const input = group.querySelectorAll<HTMLInputElement>(".tabs input")[index]
  if (input === undefined || input.checked) return
  input.checked = true
  const blocks = [...(group.querySelector(".blocks")?.children ?? [])]
  for (const [place, block] of blocks.entries()) block.classList.toggle("active", place === index)
}

const groups = (): ReadonlyArray<Element> => [...document.querySelectorAll(".vp-code-group")]

/** Called in the set-up of the site. */
export const followLanguage = (): void => {
  if (!inBrowser) return
  let chosen = stored()
  onContentUpdated(() => {
    for (const group of groups()) if (chosen !== undefined) show(group, chosen)
  })
  window.addEventListener("click", ({ target }) => {
    if (!(target instanceof HTMLInputElement) || !target.matches(".vp-code-group .tabs input")) return
    const own = target.closest(".vp-code-group")
    const language = own && labelsOf(own)[[...own.querySelectorAll(".tabs input")].indexOf(target)]
    if (own === null || language === undefined || language === null || !languages.includes(language)) return
    chosen = language
    store(language)
    // Groups above change their height: the one that was clicked stays where it is in the window.
    const before = own.getBoundingClientRect().top
    for (const group of groups()) if (group !== own) show(group, language)
    window.scrollBy({ top: own.getBoundingClientRect().top - before, behavior: "instant" })
  })
}
