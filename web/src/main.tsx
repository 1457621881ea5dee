import { render } from "preact";
import { App } from "./app";
import { connect } from "./api/feed";


render(<App />, document.getElementById("app")!);
connect();

