package com.acme.billing;

import static com.acme.billing.testkit.Assertions.assertAmount;
import static com.acme.billing.testkit.Assertions.assertEquals;
import static com.acme.billing.testkit.Assertions.assertTrue;

import com.acme.billing.model.Customer;
import com.acme.billing.model.Invoice;
import com.acme.billing.model.InvoiceStatus;
import com.acme.billing.model.LineItem;
import com.acme.billing.model.Money;
import com.acme.billing.model.WebhookEvent;
import com.acme.billing.repository.CustomerRepository;
import com.acme.billing.repository.InvoiceRepository;
import com.acme.billing.repository.PaymentRepository;
import com.acme.billing.service.WebhookService;
import com.acme.billing.testkit.Test;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.List;

public final class WebhookServiceTest {

    @Test
    public void aPaymentSettlesItsInvoiceAndARepeatedDeliveryDoesNothing() {
        InvoiceRepository invoices = new InvoiceRepository();
        PaymentRepository payments = new PaymentRepository();
        CustomerRepository customers = new CustomerRepository();
        List<String> sent = new ArrayList<>();
        customers.save(new Customer("cus-1", "Ada", "ada@example.org", "north"));
        invoices.save(Invoice.open("inv-1", "cus-1",
            List.of(new LineItem("seats", 1, new BigDecimal("80.00"))), Money.ZERO));
        WebhookService service = new WebhookService(invoices, payments, customers,
            (email, topic, subject) -> sent.add(email + " " + topic + " " + subject));
        WebhookEvent event = new WebhookEvent("evt-1", "payment.succeeded", "inv-1", new BigDecimal("80.00"));

        assertTrue(service.handle(event), "the first delivery is applied");
        assertTrue(!service.handle(event), "the second delivery is known");

        assertEquals(InvoiceStatus.PAID, invoices.require("inv-1").status());
        assertAmount("80.00", payments.findByInvoice("inv-1").orElseThrow().amount());
        assertEquals(List.of("ada@example.org payment-received inv-1"), sent);
    }
}
