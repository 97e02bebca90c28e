// Sorting and filtering; everything is readable without.
(function () {
  'use strict';
  function compare(a, b) {
    return typeof a === 'number' && typeof b === 'number' ? a - b : String(a).localeCompare(String(b), undefined, {numeric: true});
  }
  function key(row, column) {
    var cell = row.cells[column];
    return cell.hasAttribute('data-v') ? Number(cell.getAttribute('data-v')) : cell.textContent.trim();
  }
  document.querySelectorAll('table.sort').forEach(function (table) {
    var heads = Array.prototype.slice.call(table.tHead.rows[0].cells), body = table.tBodies[0];
    heads.forEach(function (head, column) {
      head.querySelector('button').addEventListener('click', function () {
        var numeric = head.classList.contains('v');
        var now = head.getAttribute('aria-sort');
        // Numbers largest first, names in order.
        var descending = now === 'none' ? numeric : now === 'ascending';
        heads.forEach(function (other) { other.setAttribute('aria-sort', 'none'); });
        head.setAttribute('aria-sort', descending ? 'descending' : 'ascending');
        var rows = Array.prototype.slice.call(body.rows).map(function (row) { return [key(row, column), row]; });
        rows.sort(function (a, b) { return (descending ? -1 : 1) * compare(a[0], b[0]); });
        rows.forEach(function (row) { body.appendChild(row[1]); });
      });
    });
  });
  document.querySelectorAll('input[data-table]').forEach(function (input) {
    var table = document.getElementById(input.getAttribute('data-table'));
    var count = document.getElementById(input.getAttribute('data-table') + '-count');
    input.addEventListener('input', function () {
      var words = input.value.toLowerCase().split(/\s+/), shown = 0;
      Array.prototype.forEach.call(table.tBodies[0].rows, function (row) {
        var text = row.textContent.toLowerCase();
        row.hidden = !words.every(function (word) { return text.indexOf(word) >= 0; });
        shown += row.hidden ? 0 : 1;
      });
      count.textContent = shown + ' of ' + table.tBodies[0].rows.length;
    });
  });
  var opened = [];
  addEventListener('beforeprint', function () {
    document.querySelectorAll('details:not([open])').forEach(function (d) { d.open = true; opened.push(d); });
  });
  addEventListener('afterprint', function () {
    opened.forEach(function (d) { d.open = false; });
    opened = [];
  });
})();
