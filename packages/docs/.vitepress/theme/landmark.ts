/** Marks the content of the front page as the main part of the page, as the default theme does on all other pages. */
import { inBrowser, onContentUpdated } from "vitepress"

/** Called in the set-up of the site. */
export const markMain = (): void => {
  if (!inBrowser) return
  onContentUpdated(() => {
    const content = document.querySelector(".VPContent")
    if (content?.classList.contains("is-home") === true) content.setAttribute("role", "main")
    else content?.removeAttribute("role")
  })
}
