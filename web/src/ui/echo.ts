// Which texts come from outside an editor. Its owner gets each text that is typed, and hands
// it back when it is rendered, which on a busy page is after the next keys.

export class Echo {
  /** texts that the editor has handed out and not got back, the oldest first */
  private sent: string[] = [];

  /** send remembers a text that the editor hands to its owner. */
  send(text: string): void {
    this.sent.push(text);
  }

  /** foreign reports whether a text that the owner hands in is none of those that the editor
   * has handed out. The texts before it will not come back. */
  foreign(text: string): boolean {
    const at = this.sent.lastIndexOf(text);
    if (at < 0) {
      this.sent = [];
      return true;
    }
    this.sent.splice(0, at + 1);
    return false;
  }
}
