/** Reading lists to their end. */

interface Page {
  nextCursor?: string | undefined
}

/** Appends the items of all following pages to a page, which then becomes the last page. */
export const readOn = async <A extends Page>(
  page: A,
  itemsOf: (page: A) => Array<unknown>,
  send: (cursor: string) => Promise<A>
): Promise<void> => {
  while (page.nextCursor !== undefined) {
    const next = await send(page.nextCursor)
    itemsOf(page).push(...itemsOf(next))
    if (next.nextCursor === undefined) delete page.nextCursor
    else page.nextCursor = next.nextCursor
  }
}
