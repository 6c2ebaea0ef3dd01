package com.acme.billing.export;

import com.acme.billing.model.Invoice;
import com.acme.billing.model.Refund;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Writes books for the accounting department: comma-separated, one line each, after a header. */
public final class CsvExport {

    /** Returns the file of all {@code refunds}, in their order. */
    public String refunds(List<Refund> refunds) {
        return file("reference,invoice,amount", refunds.stream().map(refund ->
            row(refund.reference(), refund.invoiceId(), refund.amount().toPlainString())));
    }

    /** Returns the file of all {@code invoices}, in their order. */
    public String invoices(List<Invoice> invoices) {
        return file("invoice,customer,status,total,refunded", invoices.stream().map(invoice ->
            row(invoice.id(), invoice.customerId(), invoice.status().name(),
                invoice.total().toPlainString(), invoice.refunded().toPlainString())));
    }

    private static String file(String header, Stream<String> rows) {
        return header + '\n' + rows.collect(Collectors.joining());
    }

    private static String row(String... fields) {
        return Stream.of(fields).map(CsvExport::quote).collect(Collectors.joining(",", "", "\n"));
    }

    private static String quote(String field) {
        boolean plain = field.chars().noneMatch(c -> c == ',' || c == '"' || c == '\n');
        return plain ? field : '"' + field.replace("\"", "\"\"") + '"';
    }
}
