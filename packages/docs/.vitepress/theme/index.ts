import DefaultTheme from "vitepress/theme-without-fonts"
import { followLanguage } from "./languages.ts"
import "./style.css"

export default { extends: DefaultTheme, setup: followLanguage }
