/** Annotations for GitHub Actions: lines of stdout that a workflow run shows. */

const escapedText = (text: string): string =>
  text.replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A")
const escapedProperty = (text: string): string => escapedText(text).replaceAll(":", "%3A").replaceAll(",", "%2C")

/** Returns the line for an annotation. Text from a server cannot start another workflow command. */
export const annotation = (level: "error" | "warning" | "notice", title: string, message: string): string =>
  `::${level} title=${escapedProperty(title)}::${escapedText(message)}`
