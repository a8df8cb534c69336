/** Parses a URL, or returns `undefined`. `URL.parse` is too new for the oldest supported runtime. */
export const parseUrl = (text: string, base?: string): URL | undefined =>
  URL.canParse(text, base) ? new URL(text, base) : undefined
