import '@preact/signals';
import { render } from 'preact';
import { App } from './app.ts';
import { component } from './html.ts';

const place = document.getElementById('page');
if (place !== null) {
  place.replaceChildren();
  render(component(App, {}), place);
}
