/** Uses something and closes it afterwards, whether or not that succeeds. */
export async function closeAfter<Open extends { close(): unknown }, Done>(
  open: Open,
  work: (open: Open) => Promise<Done>,
): Promise<Done> {
  try {
    return await work(open);
  } finally {
    await open.close();
  }
}
