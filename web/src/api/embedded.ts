// The answers of the API that a report holds in itself.

export interface Embedded {
  /** version of the aiperfd that made the report */
  version: string;
  /** ids of the reported runs; several are compared with the first */
  ids: string[];
  /** when the numbers were read, of runs that went on then */
  as_of?: string;
  /** bodies of answers by path, such as "api/runs/0199…/progress" */
  answers: Record<string, unknown>;
}

const holder = document.getElementById("report-data");

/** embedded is what the report holds; null on the pages of a daemon. */
export const embedded: Embedded | null = holder ? JSON.parse(holder.textContent) : null;
